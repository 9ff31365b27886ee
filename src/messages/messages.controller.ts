import { Body, Controller, Get, Param, Post, VERSION_NEUTRAL } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { AccountId, Idempotent, Insert, Operation, Sends, Stability } from 'petstore/platform';
import { DELIVERY } from './delivery-webhook.js';
import { Message } from './message.entity.js';
import { MessageDto, MessageParams, NewMessageDto } from './message.dto.js';
import { MessagesService } from './messages.service.js';

/** Also served without a version in the path: the specification gives messages their own address. */
@ApiTags('messages')
@Stability('beta')
@Controller({ path: 'messages', version: ['1', VERSION_NEUTRAL] })
export class MessagesController {
  constructor(private readonly messages: MessagesService) {}

  @Post()
  @Idempotent('insert')
  @Sends(DELIVERY)
  @Operation({
    id: 'submitMessage',
    summary: 'Submit a message',
    description:
      'The message is stored before the answer is sent; its `status` shows whether it has been delivered. Until the service has a receiver, messages stay `queued` ([guide](/guides/messages)).',
    needs: 'messages:write',
    returns: MessageDto,
    status: 202,
    located: true,
  })
  submit(@AccountId() accountId: string, @Body() body: NewMessageDto): Insert<Message> {
    return this.messages.submit(accountId, body);
  }

  @Get(':messageId')
  @Operation({
    id: 'getMessage',
    summary: 'Fetch one of your messages',
    description: 'Its `status` shows whether it is `queued`, `delivered` or `failed`.',
    needs: 'messages:read',
    returns: MessageDto,
    errors: { message_not_found: 404 },
  })
  get(@AccountId() accountId: string, @Param() { messageId }: MessageParams): Promise<MessageDto> {
    return this.messages.get(accountId, messageId);
  }
}
