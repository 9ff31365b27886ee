import { Body, Controller, Put } from '@nestjs/common';
import { startPetstore } from '../../dist/src/index.js';

// The service with a feature that takes pictures.
await startPetstore({ features: async () => [await withPictures()] });

async function withPictures() {
  const { Feature, Operation, Tag } = await import('../../dist/src/platform/index.js');

  class Pictures {
    take(bytes) {
      console.log(`a picture was taken: ${bytes.length}`);
      return {};
    }
  }
  const takes = { types: ['image/png'], maxBytes: 5_000_000, example: 'x' };
  const method = Object.getOwnPropertyDescriptor(Pictures.prototype, 'take');
  Body()(Pictures.prototype, 'take', 0);
  Operation({ id: 'putPicture', summary: 'Keep a picture', takes })(Pictures.prototype, 'take', method);
  Put()(Pictures.prototype, 'take', method);
  Tag('pictures', 'What is kept.', 'pets')(Pictures);
  Controller('pictures')(Pictures);

  function PicturesModule() {}
  Feature({ name: 'pictures', controllers: [Pictures] })(PicturesModule);
  return PicturesModule;
}
