import { AppModule } from '../../dist/src/app.module.js';

// The service with a module that does not import what its provider needs.
function Lonely() {}
function Missing() {}

function LonelyModule() {}

const lonely = { provide: Lonely, inject: [Missing], useFactory: () => new Lonely() };
const own = AppModule.with.bind(AppModule);
AppModule.with = (...args) => ({ module: LonelyModule, imports: [own(...args)], providers: [lonely] });

await import('../../dist/src/main.js');
