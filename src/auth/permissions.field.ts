import { EnumField, field, type FieldOptions, ListField } from 'petstore/platform';
import { allPermissions, permissionNames } from '../platform/api/index.js';

const PERMISSION = EnumField({
  description: 'What a key may do.',
  name: 'Permission',
  values: allPermissions,
});

/** A list of distinct permissions in a request. */
export function PermissionsField(options: FieldOptions) {
  return ListField({ ...options, of: PERMISSION, min: 1, max: () => permissionNames().length, unique: true });
}

/** The permissions in an answer: plain texts, as more may come. */
export function GrantedField(options: FieldOptions) {
  return field(options, {
    schema: { type: 'array', items: { type: 'string' } },
    must: 'a list of texts',
    accepts: Array.isArray,
    nested: true,
  });
}
