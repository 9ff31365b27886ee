import { Module } from '@nestjs/common';
import { DataModule } from 'petstore/platform';
import { CategoriesController } from './categories.controller.js';
import { CategoriesService } from './categories.service.js';
import { Category } from './category.entity.js';
import './categories.errors.js';
import './categories.permissions.js';

@Module({
  imports: [DataModule.forFeature([Category])],
  controllers: [CategoriesController],
  providers: [CategoriesService],
})
export class CategoriesModule {}
