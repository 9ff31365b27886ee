import 'reflect-metadata';
import { ClassSerializerInterceptor, Module, ValidationPipe, type ValidationError } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_INTERCEPTOR, APP_PIPE, NestFactory } from '@nestjs/core';
import { PassportModule } from '@nestjs/passport';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { TypeOrmModule } from '@nestjs/typeorm';
import express, { type NextFunction, type Request, type Response } from 'express';
import { ApiError } from '../../../src/platform/api/api-error.js';
import { logRequest } from '../log.js';
import { int64 } from '../raw-json.js';
import { reviveInt64 } from '../revive.js';
import { announce, nameRequest, requireBody } from '../shared.js';
import { BearerGuard, BearerStrategy } from './auth.js';
import { MessagesController, OrdersController, PetsController } from './controllers.js';
import { ApiKey, Message, Order, Pet } from './entities.js';
import { ErrorsFilter } from './errors.filter.js';
import { MessagesService, OrdersService, PetsService } from './services.js';

const entities = [ApiKey, Message, Order, Pet];
const pipe = new ValidationPipe({
  transform: true,
  whitelist: true,
  exceptionFactory: (errors: ValidationError[]) =>
    new ApiError(
      'validation_failed',
      errors.flatMap((error) => Object.values(error.constraints!)).join('; '),
    ),
});

/** Nest as its documentation has it: Passport, ValidationPipe, ClassSerializerInterceptor, repositories. */
@Module({
  imports: [
    PassportModule,
    TypeOrmModule.forRoot({ type: 'postgres', url: process.env.DATABASE_URL, entities, extra: { max: 10 } }),
    TypeOrmModule.forFeature(entities),
  ],
  controllers: [PetsController, OrdersController, MessagesController],
  providers: [
    BearerStrategy,
    PetsService,
    OrdersService,
    MessagesService,
    { provide: APP_GUARD, useClass: BearerGuard },
    { provide: APP_PIPE, useValue: pipe },
    { provide: APP_INTERCEPTOR, useClass: ClassSerializerInterceptor },
    { provide: APP_FILTER, useClass: ErrorsFilter },
  ],
})
class AppModule {}

// JSON.stringify does not write a bigint: this keeps all its digits.
Object.defineProperty(BigInt.prototype, 'toJSON', {
  value(this: bigint) {
    return int64(this.toString());
  },
});

const app = await NestFactory.create<NestExpressApplication>(AppModule, {
  bodyParser: false,
  logger: ['error', 'warn'],
});
app.disable('x-powered-by');
// The service sends no ETag either.
app.disable('etag');
app.setGlobalPrefix('v1');
app.use((request: Request, response: Response, next: NextFunction) => {
  const requestId = nameRequest(request.get('x-request-id'));
  response.set('X-Request-Id', requestId);
  logRequest(requestId, request, response);
  next();
});
app.use(express.json({ limit: '100kb', reviver: reviveInt64 }), requireBody);
await app.listen(0, '127.0.0.1');
announce(app.getHttpServer());
