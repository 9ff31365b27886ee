import { Body, Controller, Post, Put, UploadedFile, UploadedFiles, UseInterceptors } from '@nestjs/common';
import { FileInterceptor, FilesInterceptor } from '@nestjs/platform-express';
import { ApiBody, ApiExtension, ApiProperty, ApiSchema, ApiTags } from '@nestjs/swagger';
import { Idempotent, IntegerField, IntegerParam, ListField, TextField } from '../../src/platform/index.js';
import { Does } from './tried.js';

/** A picture of one transparent point. */
export const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

const FILE = {
  type: 'string',
  format: 'binary',
  example: `data:image/png;base64,${PIXEL.toString('base64')}`,
} as const;

class Received {
  @TextField({ description: 'What it is.', example: 'Buffer', max: 100 }) kind!: string;

  @TextField({ description: 'Its bytes, or what else there is of it.', example: '70', max: 100_000_000 })
  size!: string;
}

@ApiSchema({ name: 'NewNames' })
class NewNames {
  @ListField({
    description: 'Names.',
    of: TextField({ description: 'One.', example: 'Luna', max: 10_000 }),
    max: 1_000,
  })
  names!: string[];
}

@ApiSchema({ name: 'NewPhoto' })
class NewPhoto {
  @TextField({ description: 'What it shows.', example: 'Luna', max: 100 }) caption!: string;
  @IntegerParam({ description: 'How old that is.', example: 3, min: 0, max: 100, optional: true }) age = 0;
  @ApiProperty({ ...FILE, description: 'The photo.' }) photo!: unknown;
}

@ApiSchema({ name: 'NewAlbum' })
class NewAlbum {
  @ApiProperty({ type: 'array', items: FILE, description: 'The photos.' }) photos!: unknown[];
}

@ApiSchema({ name: 'NewLong' })
class NewLong {
  @IntegerField({ description: 'How long the text is.', example: 2, min: 0, max: 100_000_000 })
  length!: number;
}

type File = Express.Multer.File;

/** Requests that a team may accept, other than small JSON bodies. */
@ApiTags('uploads')
@Controller('uploads')
export class UploadsController {
  static calls = 0;

  @Put('picture')
  @Does('pets:write', {
    takes: { types: ['image/png', 'image/jpeg'], maxBytes: 5_000_000 },
    returns: Received,
  })
  @ApiBody({ schema: FILE })
  @Idempotent()
  picture(@Body() picture: Buffer): Received {
    UploadsController.calls++;
    return { kind: picture.constructor.name, size: String(picture.length) };
  }

  @Post('lines')
  @Does('pets:write', {
    takes: { types: ['text/*', 'application/json'], maxBytes: 200_000 },
    returns: Received,
  })
  addLines(@Body() body: Buffer | object): Received {
    const isText = body instanceof Buffer;
    return { kind: isText ? 'text' : 'json', size: isText ? String(body) : JSON.stringify(body) };
  }

  @Post('names')
  @Does('pets:write', { takes: { types: ['application/json'], maxBytes: 1_048_576 }, returns: Received })
  names(@Body() { names }: NewNames): Received {
    return { kind: 'names', size: String(names.length) };
  }

  @Post('long')
  @Does('pets:write', { takes: { types: ['application/json'], maxBytes: 14_000_000 }, returns: Received })
  long(@Body() { length }: NewLong): Received {
    return { kind: 'long', size: 'x'.repeat(length) };
  }

  @Post('photos')
  @Does('pets:write', { takes: { types: ['multipart/form-data'], maxBytes: 5_000_000 }, returns: Received })
  @UseInterceptors(FileInterceptor('photo'))
  @Idempotent()
  photo(@UploadedFile() photo: File | undefined, @Body() { caption, age }: NewPhoto): Received {
    UploadsController.calls++;
    return {
      kind: `${caption} ${age}`,
      size: `${photo?.originalname} ${photo?.mimetype} ${photo?.buffer.length}`,
    };
  }

  @Post('albums')
  @Does('pets:write', { takes: { types: ['multipart/form-data'], maxBytes: 1_000_000 }, returns: Received })
  @ApiBody({ type: NewAlbum })
  @ApiExtension('x-codeSamples', [{ lang: 'Shell', source: 'curl' }])
  @UseInterceptors(FilesInterceptor('photos', 3, { limits: { fileSize: 100_000, parts: 5 } }))
  album(@UploadedFiles() photos: File[]): Received {
    return { kind: 'album', size: photos.map(({ buffer }) => buffer.length).join(' ') };
  }
}
