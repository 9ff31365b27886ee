import { HttpAdapterHost, ModuleRef } from '@nestjs/core';
import { AppModule } from '../../dist/src/app.module.js';

// The service with a listener for each of FAULTS, such as `socket close`, which throws at the event of the client whose
// address ends in its number: 127.0.1.1 meets the first.
const faults = (process.env.FAULTS ?? '').split(',').map((fault) => fault.split(' '));

class Careless {
  constructor(modules) {
    this.modules = modules;
  }

  onApplicationBootstrap() {
    const http = this.modules.get(HttpAdapterHost, { strict: false }).httpAdapter.getHttpServer();
    this.hurt(http, 'server');
    const hurtParts = (request, response) => {
      this.hurt(request, 'request', request.socket);
      this.hurt(response, 'response', request.socket);
    };
    for (const event of ['request', 'checkContinue']) http.on(event, hurtParts);
    http.on('connection', (socket) => this.hurt(socket, 'socket', socket));
  }

  hurt(emitter, name, client) {
    faults.forEach(([on, event], i) => {
      if (on !== name) return;
      emitter.on(event, (...given) => {
        const sockets = [client, ...given, given[0]?.socket];
        if (sockets.some((socket) => socket?.remoteAddress === `127.0.1.${i + 1}`))
          throw new Error(`What the client sent:\n    at secret`);
      });
    });
  }
}

function CarelessModule() {}

const careless = {
  provide: Careless,
  inject: [ModuleRef],
  useFactory: (modules) => new Careless(modules),
};
const own = AppModule.with.bind(AppModule);
AppModule.with = (...args) => ({ module: CarelessModule, imports: [own(...args)], providers: [careless] });

await import('../../dist/src/main.js');
