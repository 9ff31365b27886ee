import { Int64Field, TimestampField } from 'petstore/platform';

/** An invitation in the output of a command. Its code is shown once, beside it. */
export class InvitationDto {
  @Int64Field({ description: 'Identifier of the invitation.', example: 7 })
  id!: string;

  @TimestampField({ description: 'When the invitation was created.', example: '2026-11-21T12:00:00.000Z' })
  createdAt!: Date;

  @TimestampField({ description: 'When it expires; one without it does not expire.', optional: true })
  expiresAt?: Date | null;
}
