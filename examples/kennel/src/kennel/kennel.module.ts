import { Feature } from 'petstore/platform';
import { Dog } from './dog.entity.js';
import { DogsV2Controller } from './dogs-v2.controller.js';
import { DogsController } from './dogs.controller.js';
import { DogsService } from './dogs.service.js';
import { DECLARATIONS } from './kennel.declarations.js';
import { Kennel1800000000004 } from './migrations/1800000000004-kennel.js';
import { Photo } from './photo.entity.js';
import { PhotosController } from './photos.controller.js';
import { PhotosService } from './photos.service.js';

@Feature({
  name: 'kennel',
  ...DECLARATIONS,
  tags: { kennel: 'The dogs of your kennel, and their photos.' },
  entities: [Photo, Dog],
  migrations: [Kennel1800000000004],
  controllers: [PhotosController, DogsController, DogsV2Controller],
  providers: [PhotosService, DogsService],
})
export class KennelModule {}
