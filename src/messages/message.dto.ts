import { ApiSchema, PickType } from '@nestjs/swagger';
import { EnumField, TextField, TimestampField, UuidField } from 'petstore/platform';
import { MessageStatus } from './message.entity.js';

const MESSAGE_STATUS = {
  name: 'MessageStatus',
  values: {
    [MessageStatus.Queued]: 'The message is stored and waiting to be delivered.',
    [MessageStatus.Delivered]: 'The message has been delivered. Final.',
    [MessageStatus.Failed]: 'The message could not be delivered.',
  },
};

const TEXT = { description: 'Text of the message, kept as sent.', example: 'Hello, world!', max: 65_536 };

@ApiSchema({ name: 'NewMessage' })
export class NewMessageDto {
  @TextField(TEXT)
  message!: string;
}

@ApiSchema({ name: 'Message' })
export class MessageDto {
  @UuidField({ description: 'Identifier of the message.', example: '019aa5c2-6f80-7c3e-8f3a-5d2b1c4e6f70' })
  id!: string;

  @TextField(TEXT)
  message!: string;

  @EnumField({
    description: 'Whether the message is still queued, has been delivered, or has failed.',
    example: 'queued',
    ...MESSAGE_STATUS,
  })
  status!: MessageStatus;

  @TimestampField({ description: 'When the message was accepted.', example: '2026-11-21T12:00:00.000Z' })
  createdAt!: Date;
}

/** A message as delivered. */
@ApiSchema({ name: 'DeliveredMessage' })
export class DeliveredMessageDto extends PickType(MessageDto, ['id', 'message', 'createdAt']) {}

export class MessageParams {
  @UuidField({ description: 'Identifier of the message.', example: '019aa5c2-6f80-7c3e-8f3a-5d2b1c4e6f70' })
  messageId!: string;
}
