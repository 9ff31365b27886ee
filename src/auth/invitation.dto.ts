import { Int64Field, TimestampField } from '../platform/api/fields.js';

/** An invitation, as the commands show it. Its code is shown once, beside it. */
export class InvitationDto {
  @Int64Field({ description: 'Identifier of the invitation.' })
  id!: string;

  @TimestampField({ description: 'When the invitation was created.' })
  createdAt!: Date;

  @TimestampField({ description: 'When it expires; one without it does not expire.', optional: true })
  expiresAt?: Date | null;
}
