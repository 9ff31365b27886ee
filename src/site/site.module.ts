import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { Assets } from './assets.js';
import { SiteController } from './site.controller.js';

@Module({ imports: [AuthModule], controllers: [SiteController], providers: [Assets] })
export class SiteModule {}
