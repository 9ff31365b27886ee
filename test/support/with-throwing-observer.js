import { HttpAdapterHost, ModuleRef } from '@nestjs/core';
import { AppModule } from '../../dist/src/app.module.js';

// The service with an observer that throws in its listeners: for clients whose address starts with 127.0.1,
// for malformed HTTP, and for unknown expectations.
const BAD = new Set(['bad_request', 'expectation_failed']);

class Careless {
  constructor(modules) {
    this.modules = modules;
  }

  onApplicationBootstrap() {
    const { connections } = this.modules.get(HttpAdapterHost, { strict: false }).httpAdapter;
    const { observer } = connections;
    const fail = () => {
      throw new Error(`What the client sent:\n    at secret`);
    };
    connections.observer = {
      closed: (exchange) => (exchange.network.startsWith('127.0.1.') ? fail() : observer.closed(exchange)),
      refused: (reason) => (BAD.has(reason) ? fail() : observer.refused(reason)),
    };
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
