import { openSync } from 'node:fs';
import { AppModule } from '../../dist/src/app.module.js';

// The service with a feature that keeps as many files open as it is told to.
function FilesModule() {}
FilesModule.prototype.onApplicationBootstrap = () => {
  for (let i = 0; i < Number(process.env.KEPT_OPEN); i++) openSync(process.execPath);
};

const own = AppModule.with.bind(AppModule);
AppModule.with = (...args) => ({ module: FilesModule, imports: [own(...args)] });

await import('../../dist/src/main.js');
