import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import {
  Body,
  Controller,
  Get,
  Headers,
  HttpStatus,
  Param,
  ParseFilePipeBuilder,
  Post,
  Put,
  Res,
  StreamableFile,
  UploadedFile,
  UseInterceptors,
} from '@nestjs/common';
import { FileInterceptor } from '@nestjs/platform-express';
import { ApiBody, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { AccountId, Idempotent, Operation, Stability } from 'petstore/platform';
import { NewPhotoDto, PhotoDto, PhotoParams, POINT } from './kennel.dto.js';
import { PhotosService } from './photos.service.js';

const TYPES = ['image/png', 'image/jpeg'];
const MAX_BYTES = 5_000_000;
const PICTURE = new ParseFilePipeBuilder()
  .addFileTypeValidator({ fileType: /^image\/(?:png|jpeg)$/ })
  .build({ errorHttpStatusCode: HttpStatus.BAD_REQUEST });

@ApiTags('kennel')
@Stability('experimental')
@Controller('photos')
export class PhotosController {
  constructor(private readonly photos: PhotosService) {}

  @Post()
  @Idempotent()
  @UseInterceptors(FileInterceptor('photo'))
  @Operation({
    id: 'addPhoto',
    summary: 'Add a photo',
    description: 'By a form, such as that of a web page.',
    needs: 'kennel:write',
    takes: { types: ['multipart/form-data'], maxBytes: MAX_BYTES },
    returns: PhotoDto,
    status: 201,
    located: true,
  })
  async add(
    @AccountId() accountId: string,
    @Body() { caption }: NewPhotoDto,
    @UploadedFile(PICTURE) { buffer: content, mimetype: type }: Express.Multer.File,
  ): Promise<PhotoDto> {
    return (await this.photos.put(accountId, randomUUID(), { type, caption, content })).photo;
  }

  @Put(':photoId')
  @Idempotent()
  @Operation({
    id: 'putPhoto',
    summary: 'Add or replace a photo',
    description: 'Under the id that you give.',
    needs: 'kennel:write',
    takes: { types: TYPES, maxBytes: MAX_BYTES },
    returns: PhotoDto,
    successes: [
      { status: 200, means: 'Replaced.' },
      { status: 201, located: true },
    ],
    errors: { photo_not_found: 404 },
  })
  @ApiBody({ schema: { type: 'string', format: 'binary', example: `data:image/png;base64,${POINT}` } })
  async put(
    @AccountId() accountId: string,
    @Param() { photoId }: PhotoParams,
    @Headers('content-type') type: string,
    @Body() content: Buffer,
    @Res({ passthrough: true }) response: Response,
  ): Promise<PhotoDto> {
    const mediaType = type.replace(/;.*$/, '').toLowerCase();
    const values = { type: mediaType, caption: null, content };
    const { photo, isNew } = await this.photos.put(accountId, photoId, values);
    if (isNew) response.status(201);
    return photo;
  }

  @Get('specimen')
  @Operation({
    id: 'getSpecimen',
    summary: 'Fetch a specimen',
    description: 'How a photo has to look.',
    needs: 'kennel:read',
    successes: [{ status: 200 }, { status: 206 }, { status: 304 }],
    gives: { types: ['image/png'] },
    errors: { range_not_satisfiable: 416 },
  })
  specimen(@Res() response: Response): void {
    response.sendFile(fileURLToPath(new URL('point.png', import.meta.url)));
  }

  @Get(':photoId')
  @Operation({
    id: 'getPhoto',
    summary: 'Fetch a photo',
    description: 'The picture, as it was sent.',
    needs: 'kennel:read',
    gives: { types: TYPES },
    errors: { photo_not_found: 404 },
  })
  async get(@AccountId() accountId: string, @Param() { photoId }: PhotoParams): Promise<StreamableFile> {
    const { content, type } = await this.photos.get(accountId, photoId);
    return new StreamableFile(content, { type });
  }
}
