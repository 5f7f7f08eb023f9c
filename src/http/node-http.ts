/**
 * Node's `http`, not imported as a module: for that Node 24 loads its own fetch, whose names `http` has, which nothing here uses and
 * which takes 35 ms and 3 MB of each process.
 */
export const { createServer, request } = process.getBuiltinModule('node:http');
