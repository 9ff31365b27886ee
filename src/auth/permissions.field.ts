import type { ApiPropertyOptions } from '@nestjs/swagger';
import { field, type FieldOptions } from '../platform/api/field.js';
import { arePermissions, PERMISSIONS, PERMISSION_NAMES } from '../platform/api/permissions.js';

const { length: count } = PERMISSION_NAMES;

/** A list of permissions in a request, none of them twice. */
export function PermissionsField(options: FieldOptions) {
  return field(options, {
    schema: {
      type: 'array',
      isArray: true,
      enum: PERMISSION_NAMES,
      enumName: 'Permission',
      enumSchema: { description: 'What a key may do.', 'x-enumDescriptions': PERMISSIONS },
      minItems: 1,
      maxItems: count,
      uniqueItems: true,
    } as ApiPropertyOptions,
    must: `a list of 1 to ${count} of ${PERMISSION_NAMES.join(', ')}, none of them twice`,
    accepts: arePermissions,
    nested: true,
  });
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
