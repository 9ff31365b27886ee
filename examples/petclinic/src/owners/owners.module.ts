import { Feature } from 'petstore/platform';
import { Owner } from './owner.entity.js';
import { OwnersController } from './owners.controller.js';
import { OwnersService } from './owners.service.js';
import { ERRORS } from './owners.errors.js';
import { PERMISSIONS } from './owners.permissions.js';

@Feature({
  name: 'owners',
  entities: [Owner],
  permissions: PERMISSIONS,
  errors: ERRORS,
  controllers: [OwnersController],
  providers: [OwnersService],
})
export class OwnersModule {}
