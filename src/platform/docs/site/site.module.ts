import { Module } from '@nestjs/common';
import { NotFoundPage } from '../../server/index.js';
import { Assets } from './assets.js';
import { SiteNotFoundPage } from './site-not-found-page.js';
import { SiteController } from './site.controller.js';

@Module({
  controllers: [SiteController],
  providers: [Assets, { provide: NotFoundPage, useClass: SiteNotFoundPage }],
  exports: [NotFoundPage],
})
export class SiteModule {}
