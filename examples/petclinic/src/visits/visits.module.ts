import { Feature } from 'petstore/platform';
import { PetsModule } from 'petstore/product';
import { Visit } from './visit.entity.js';
import { VisitsController } from './visits.controller.js';
import { VisitsService } from './visits.service.js';
import { ERRORS } from './visits.errors.js';
import { PERMISSIONS } from './visits.permissions.js';

@Feature({
  name: 'visits',
  entities: [Visit],
  permissions: PERMISSIONS,
  errors: ERRORS,
  imports: [PetsModule],
  controllers: [VisitsController],
  providers: [VisitsService],
})
export class VisitsModule {}
