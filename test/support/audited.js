import { DataSource } from 'typeorm';
import { AppModule } from '../../dist/src/app.module.js';

// The service with a subscriber to every entity, registered as Nest's documentation has it.
class Audit {
  constructor(database) {
    database.subscribers.push(this);
  }

  afterInsert({ metadata, entity }) {
    console.log(`added ${metadata.name} ${entity.id}`);
  }

  afterUpdate({ metadata, entity }) {
    console.log(`changed ${metadata.name} ${entity?.id}`);
  }
}

const audit = { provide: Audit, inject: [DataSource], useFactory: (database) => new Audit(database) };

function AuditedModule() {}

const own = AppModule.with.bind(AppModule);
AppModule.with = (...args) => ({ module: AuditedModule, imports: [own(...args)], providers: [audit] });

await import('../../dist/src/main.js');
