import {
  Body,
  Controller,
  Get,
  HttpStatus,
  Param,
  ParseFilePipeBuilder,
  Post,
  Res,
  StreamableFile,
  UploadedFile,
  UseInterceptors,
} from '@nestjs/common';
import { FileInterceptor } from '@nestjs/platform-express';
import { ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { AccountId, Idempotent, Operation, Stability } from 'petstore/platform';
import { NewPhotoDto, PhotoDto, PhotoParams } from './kennel.dto.js';
import { PhotosService } from './photos.service.js';

/** Checks the type of a file by its content; the type that the form names is ignored. */
const PICTURE = new ParseFilePipeBuilder()
  .addFileTypeValidator({ fileType: /^image\/(?:png|jpeg)$/, overrideMimeType: true })
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
    description: 'Uploads a photo in a form, as a web page does.',
    needs: 'kennel:write',
    takes: { types: ['multipart/form-data'], maxBytes: 5_000_000 },
    returns: PhotoDto,
    status: 201,
    located: true,
  })
  add(
    @AccountId() accountId: string,
    @Body() { caption }: NewPhotoDto,
    @UploadedFile(PICTURE) { buffer: content, mimetype: type }: Express.Multer.File,
  ): Promise<PhotoDto> {
    return this.photos.add(accountId, { type, caption, content });
  }

  @Get('specimen')
  @Operation({
    id: 'getSpecimen',
    summary: 'Fetch a specimen',
    description: 'An example of a valid photo.',
    needs: 'kennel:read',
    successes: [{ status: 200 }, { status: 206 }, { status: 304 }],
    gives: { types: ['image/png'] },
    errors: { precondition_failed: 412, range_not_satisfiable: 416 },
  })
  specimen(@Res() response: Response): void {
    response.sendFile('point.png', { root: import.meta.dirname });
  }

  @Get(':photoId')
  @Operation({
    id: 'getPhoto',
    summary: 'Fetch a photo',
    description: 'The picture, unchanged.',
    needs: 'kennel:read',
    gives: { types: ['image/png', 'image/jpeg'] },
    errors: { photo_not_found: 404 },
  })
  async get(@AccountId() accountId: string, @Param() { photoId }: PhotoParams): Promise<StreamableFile> {
    const { content, type } = await this.photos.get(accountId, photoId);
    return new StreamableFile(content, { type });
  }
}
