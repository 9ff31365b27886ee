import { Module } from '@nestjs/common';
import { NotFoundPage } from '../../server/not-found-page.js';
import { Assets } from './assets.js';
import { SiteController } from './site.controller.js';
import { SiteNotFoundPage } from './site-not-found-page.js';

@Module({
  controllers: [SiteController],
  providers: [Assets, { provide: NotFoundPage, useClass: SiteNotFoundPage }],
  exports: [NotFoundPage],
})
export class SiteModule {}
