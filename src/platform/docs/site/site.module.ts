import { Module } from '@nestjs/common';
import { Assets } from './assets.js';
import { SiteController } from './site.controller.js';

@Module({ controllers: [SiteController], providers: [Assets] })
export class SiteModule {}
