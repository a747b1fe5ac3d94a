-- A database as version 1 wrote it: one resource put twice, a token, an audit event.
PRAGMA journal_mode = WAL;
CREATE TABLE meta (name TEXT NOT NULL PRIMARY KEY, number INTEGER NOT NULL);
CREATE TABLE resources (
  grp TEXT NOT NULL, kind TEXT NOT NULL, scope INTEGER NOT NULL, place TEXT NOT NULL, name TEXT NOT NULL,
  text TEXT NOT NULL, form INTEGER NOT NULL,
  version INTEGER NOT NULL, created INTEGER NOT NULL, modified INTEGER NOT NULL,
  PRIMARY KEY (grp, kind, scope, place, name));
CREATE TABLE revisions (
  revision INTEGER NOT NULL PRIMARY KEY, at INTEGER NOT NULL,
  author TEXT NOT NULL, token TEXT, request TEXT);
CREATE TABLE entries (
  revision INTEGER NOT NULL, item INTEGER NOT NULL,
  grp TEXT NOT NULL, kind TEXT NOT NULL, scope INTEGER NOT NULL, place TEXT NOT NULL, name TEXT NOT NULL,
  done INTEGER NOT NULL, form INTEGER NOT NULL, text TEXT, redacted INTEGER NOT NULL,
  created INTEGER NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY (revision, item));
CREATE TABLE tokens (
  id TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL, hash BLOB NOT NULL, grants TEXT NOT NULL,
  created INTEGER NOT NULL, expires INTEGER, revoked INTEGER);
CREATE TABLE audit (
  id INTEGER NOT NULL PRIMARY KEY, at INTEGER NOT NULL,
  author TEXT NOT NULL, token TEXT, request TEXT,
  action TEXT NOT NULL, what TEXT NOT NULL, outcome TEXT NOT NULL);
INSERT INTO meta (name, number) VALUES
  ('schema', 1), ('revision', 2), ('at', 1700000002000000), ('horizon', 0), ('tokens', 1);
INSERT INTO resources VALUES
  ('gateway.networking.k8s.io', 'HTTPRoute', 1, 'shop', 'a', '2', 0, 2, 1700000001000000, 1700000002000000);
INSERT INTO revisions VALUES
  (1, 1700000001000000, 'ann', 't', 'r1'), (2, 1700000002000000, 'bob', NULL, NULL);
INSERT INTO entries VALUES
  (1, 0, 'gateway.networking.k8s.io', 'HTTPRoute', 1, 'shop', 'a', 0, 0, '1', 0, 1700000001000000, 1700000001000000),
  (2, 0, 'gateway.networking.k8s.io', 'HTTPRoute', 1, 'shop', 'a', 1, 0, '2', 0, 1700000001000000, 1700000002000000);
INSERT INTO tokens VALUES ('t', 'ann', x'0102', '["admin"]', 1700000000000000, NULL, NULL);
INSERT INTO audit VALUES (1, 1700000001000000, 'ann', 't', 'r1', 'put', 'HTTPRoute a', 'created');
