import { field, type FieldOptions } from '../platform/api/field.js';
import { EnumField } from '../platform/api/fields.js';
import { ListField } from '../platform/api/nested-fields.js';
import { PERMISSION_NAMES, PERMISSIONS } from '../platform/api/permissions.js';

const PERMISSION = EnumField({ description: 'What a key may do.', name: 'Permission', values: PERMISSIONS });

/** A list of permissions in a request, none of them twice. */
export function PermissionsField(options: FieldOptions) {
  return ListField({ ...options, of: PERMISSION, min: 1, max: PERMISSION_NAMES.length, unique: true });
}

/** The permissions in an answer: plain texts, for others will come. */
export function GrantedField(options: FieldOptions) {
  return field(options, {
    schema: { type: 'array', items: { type: 'string' } },
    must: 'a list of texts',
    accepts: Array.isArray,
    nested: true,
  });
}
