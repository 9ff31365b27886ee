import { Injectable } from '@nestjs/common';
import { AccountClosing, FastRepository, InjectFastRepository, type Put } from 'petstore/platform';
import { Photo } from './photo.entity.js';

/** The photos of one account each: to any other account they do not exist. */
@Injectable()
export class PhotosService {
  constructor(
    @InjectFastRepository(Photo) private readonly photos: FastRepository<Photo>,
    closing: AccountClosing,
  ) {
    closing.erases(Photo);
  }

  /** @throws ApiError `photo_not_found` for one of another account */
  put(accountId: string, id: string, type: string, content: Buffer): Promise<Put<Photo>> {
    return this.photos.putRow({ id, accountId }, { type, content }, 'photo_not_found');
  }

  /** @throws ApiError `photo_not_found` */
  get(accountId: string, id: string): Promise<Photo> {
    return this.photos.getRow({ id, accountId }, 'photo_not_found');
  }
}
