import { Injectable } from '@nestjs/common';
import { AccountClosing, FastRepository, InjectFastRepository, Transactions } from 'petstore/platform';
import { Photo } from './photo.entity.js';

/** The photos of one account each: to any other account they do not exist. */
@Injectable()
export class PhotosService {
  constructor(
    @InjectFastRepository(Photo) private readonly photos: FastRepository<Photo>,
    private readonly transactions: Transactions,
    closing: AccountClosing,
  ) {
    closing.erases(Photo);
  }

  /**
   * Adds a photo under an id, or replaces the account's own photo with that id.
   * @returns the photo, and whether it is new
   * @throws ApiError `photo_not_found` for a photo of another account
   */
  async put(
    accountId: string,
    id: string,
    values: Pick<Photo, 'type' | 'caption' | 'content'>,
  ): Promise<{ photo: Photo; isNew: boolean }> {
    return this.transactions.run(async (manager) => {
      const add = manager.createQueryBuilder().insert().into(Photo).orIgnore().returning('id');
      const { raw } = await add.values({ id, accountId, ...values }).execute();
      const photo = await this.photos.changeRow({ id, accountId }, 'photo_not_found', (found) => {
        Object.assign(found, values);
      });
      return { photo, isNew: (raw as unknown[]).length > 0 };
    });
  }

  /** @throws ApiError `photo_not_found` */
  get(accountId: string, id: string): Promise<Photo> {
    return this.photos.getRow({ id, accountId }, 'photo_not_found');
  }
}
