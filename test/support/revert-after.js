import database from '../../dist/ormconfig.js';

// Reverts every migration that was run after one, whose name is the argument: in one process, as many of TypeORM's
// command line would one by one.
await database.initialize();
const last = 'SELECT name FROM migrations ORDER BY id DESC LIMIT 1';
while ((await database.query(last))[0].name !== process.argv[2]) await database.undoLastMigration();
await database.destroy();
