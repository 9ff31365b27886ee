import type { Readable } from 'node:stream';
import { Injectable, type MessageEvent } from '@nestjs/common';
import { map, type Observable } from 'rxjs';
import { MoreThan } from 'typeorm';
import {
  AccountClosing,
  AuditLog,
  between,
  Events,
  FastRepository,
  InjectFastRepository,
  type Job,
  type Page,
  RowStreams,
  Scheduled,
  Transactions,
  violation,
} from 'petstore/platform';
import type { ListDogsQuery } from './dog-v2.dto.js';
import type { BreedCountDto, DogChangeDto, NewDogDto, SearchQuery } from './kennel.dto.js';
import { Dog } from './dog.entity.js';

const PHOTO_MISSING = violation(Dog, 'dogs_photo_id_fkey', 'photo_not_found', 400);
/** Longer than any transaction takes to commit. */
const OVERLAP_MS = 10_000;
const topicOf = (accountId: string) => `dogs of ${accountId}`;

/** The dogs of accounts. Each call sees the dogs of one account. */
@Injectable()
export class DogsService {
  constructor(
    @InjectFastRepository(Dog) private readonly dogs: FastRepository<Dog>,
    private readonly rows: RowStreams,
    private readonly events: Events,
    private readonly transactions: Transactions,
    private readonly audit: AuditLog,
    closing: AccountClosing,
  ) {
    closing.erases(Dog);
  }

  /**
   * Adds a dog under an id, or replaces the account's own dog with that id.
   * @returns the dog, and whether it is new
   * @throws ApiError `dog_not_found` for a dog of another account, `photo_not_found` (400)
   */
  async put(
    accountId: string,
    id: string,
    { name, breed, traits, vaccination, photoId }: NewDogDto,
  ): Promise<{ dog: Dog; isNew: boolean }> {
    const values = { name, breed, traits, vaccination: vaccination ?? null, photoId: photoId ?? null };
    return this.transactions
      .run(async (manager) => {
        // Of simultaneous requests, one adds the row; the others wait for it, and replace it.
        const add = manager.createQueryBuilder().insert().into(Dog).orIgnore().returning('id');
        const { raw } = await add.values({ id, accountId, ...values } as object).execute();
        const isNew = (raw as unknown[]).length > 0;
        const dog = await this.dogs.changeRow({ id, accountId }, 'dog_not_found', (found) => {
          if (!isNew) Object.assign(found, values, { updatedAt: new Date() });
        });
        await this.events.publish(topicOf(accountId), { id, at: dog.updatedAt });
        return { dog, isNew };
      })
      .catch(PHOTO_MISSING);
  }

  /** @throws ApiError `dog_not_found`, `photo_not_found` (400) */
  update(accountId: string, id: string, changes: DogChangeDto): Promise<Dog> {
    return this.dogs
      .changeRow({ id, accountId }, 'dog_not_found', (dog) => {
        this.dogs.merge(dog, changes);
      })
      .catch(PHOTO_MISSING);
  }

  /** @throws ApiError `dog_not_found` */
  get(accountId: string, id: string): Promise<Dog> {
    return this.dogs.getRow({ id, accountId }, 'dog_not_found');
  }

  /** Dogs in the order of their last changes. */
  list(accountId: string, { from, to, ...page }: ListDogsQuery): Promise<Page<Dog>> {
    return this.dogs.page({ accountId, updatedAt: between(from, to) }, { ...page, sort: 'updatedAt' });
  }

  /** Dogs with all of the words, the best matches first. */
  search(accountId: string, { words, ...page }: SearchQuery): Promise<Page<Dog>> {
    const text = `to_tsvector('simple', dog.name || ' ' || dog.breed)`;
    const found = this.dogs
      .createQueryBuilder('dog')
      .select('dog.id', 'id')
      .addSelect(`ts_rank(${text}, plainto_tsquery('simple', :words))`, 'rank')
      .where(`${text} @@ plainto_tsquery('simple', :words)`, { words })
      .andWhere('dog.accountId = :accountId', { accountId });
    return this.dogs.pageOf(found, { ...page, sort: ['rank'], order: 'desc' });
  }

  /** All dogs, however many, in a snapshot. */
  all(accountId: string): Promise<Readable> {
    return this.rows.stream({
      sql: 'SELECT id, name, breed FROM dogs WHERE account_id = $1',
      parameters: [accountId],
    });
  }

  /** Dogs that are added or replaced from now on, or since an event. A dog may be sent twice; none is missed. */
  watch(accountId: string, lastEventId?: string): Observable<MessageEvent> {
    // Even without an event, reads recent changes: this process may only be starting to listen.
    const since = Date.parse(lastEventId ?? '') || Date.now();
    const from = new Date(Math.max(0, since - OVERLAP_MS));
    const missed = async () => {
      const where = { accountId, updatedAt: MoreThan(from) };
      const dogs = await this.dogs.find({ where, order: { updatedAt: 'ASC' } });
      return dogs.map(({ id, updatedAt: at }) => ({ id, at: at.toISOString() }));
    };
    return this.events
      .of<{ id: string; at: string }>(topicOf(accountId), missed)
      .pipe(map(({ id, at }) => ({ id: at, data: { id } })));
  }

  /** Reads every dog of the account, which may be slow. */
  countBreeds(accountId: string): Promise<BreedCountDto[]> {
    return this.transactions.manager.query(
      `SELECT breed, count(*)::int AS dogs FROM dogs WHERE account_id = $1
        GROUP BY breed ORDER BY dogs DESC, breed LIMIT 1000`,
      [accountId],
    );
  }

  /** Removes dogs that have not changed for a year. */
  @Scheduled('kennel-cleaning', '30 3 * * *')
  async clean(_payload: undefined, { by }: Job): Promise<void> {
    await this.transactions.run(async () => {
      const [gone] = await this.transactions.manager.query<[{ id: string; accountId: string }[], number]>(
        `DELETE FROM dogs WHERE updated_at < now() - interval '1 year' RETURNING id, account_id AS "accountId"`,
      );
      await this.audit.add(
        ...gone.map(({ id, accountId }) => {
          return { by: { ...by, accountId }, action: 'dog.removed', subjectId: id };
        }),
      );
    });
  }
}
