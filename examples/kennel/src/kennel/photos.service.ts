import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { AccountClosing, FastRepository, InjectFastRepository } from 'petstore/platform';
import { Photo } from './photo.entity.js';

/** The photos of accounts. Each call sees the photos of one account. */
@Injectable()
export class PhotosService {
  constructor(
    @InjectFastRepository(Photo) private readonly photos: FastRepository<Photo>,
    closing: AccountClosing,
  ) {
    closing.erases(Photo);
  }

  add(accountId: string, photo: Pick<Photo, 'type' | 'caption' | 'content'>): Promise<Photo> {
    return this.photos.addRow({ id: randomUUID(), accountId, ...photo });
  }

  /** @throws ApiError `photo_not_found` */
  get(accountId: string, id: string): Promise<Photo> {
    return this.photos.getRow({ id, accountId }, 'photo_not_found');
  }
}
