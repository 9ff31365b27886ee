import { Body, Controller, Get, Headers, Param, Put, Res, StreamableFile } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { AccountId, Idempotent, Operation, Stability } from 'petstore/platform';
import { PhotoDto, PhotoParams } from './kennel.dto.js';
import { PhotosService } from './photos.service.js';

/** A picture of one point. */
const POINT = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const PICTURES = { types: ['image/png', 'image/jpeg'], example: POINT };

@ApiTags('kennel')
@Stability('experimental')
@Controller('photos')
export class PhotosController {
  constructor(private readonly photos: PhotosService) {}

  @Put(':photoId')
  @Idempotent()
  @Operation({
    id: 'putPhoto',
    summary: 'Add or replace a photo',
    description: 'Under the id that you give.',
    needs: 'kennel:write',
    takes: { ...PICTURES, maxBytes: 5_000_000 },
    returns: PhotoDto,
    successes: [
      { status: 200, means: 'Replaced.' },
      { status: 201, located: true },
    ],
    errors: { photo_not_found: 404 },
  })
  async put(
    @AccountId() accountId: string,
    @Param() { photoId }: PhotoParams,
    @Headers('content-type') type: string,
    @Body() content: Buffer,
    @Res({ passthrough: true }) response: Response,
  ): Promise<PhotoDto> {
    const mediaType = type.replace(/;.*$/, '').toLowerCase();
    const { photo, isNew } = await this.photos.put(accountId, photoId, mediaType, content);
    if (isNew) response.status(201);
    return photo;
  }

  @Get(':photoId')
  @Operation({
    id: 'getPhoto',
    summary: 'Fetch a photo',
    description: 'The picture, as it was sent.',
    needs: 'kennel:read',
    gives: PICTURES,
    errors: { photo_not_found: 404 },
  })
  async get(@AccountId() accountId: string, @Param() { photoId }: PhotoParams): Promise<StreamableFile> {
    const { content, type } = await this.photos.get(accountId, photoId);
    return new StreamableFile(content, { type });
  }
}
