CREATE TABLE mcp_store (epoch text NOT NULL);
-- One row: the number of the last change, so that a process finds those of others.
CREATE TABLE mcp_seq (n integer NOT NULL);
INSERT INTO mcp_seq VALUES (0);

CREATE TABLE mcp_task (
  id           text PRIMARY KEY,
  seq          integer NOT NULL DEFAULT 0, -- number of its last change
  version      integer NOT NULL,
  owner        blob NOT NULL,              -- digest
  tool         text NOT NULL,
  status       text NOT NULL,
  run          integer NOT NULL,
  worker       text NOT NULL,              -- '' if nobody runs it
  queue        text NOT NULL,              -- River's, for each run
  job_id       integer NOT NULL,           -- of the run that waits or was handed out; 0 if none was
  disclosed    boolean NOT NULL,
  created_at   integer NOT NULL,           -- times in ns since 1970
  updated_at   integer NOT NULL,
  expires_at   integer,
  parked_until integer,
  body         blob NOT NULL,              -- the rest of the record, as JSON
  arguments    blob,                       -- NULL if in mcp_part
  result       blob                        -- NULL if there is none, or if in mcp_part
) WITHOUT ROWID;
CREATE INDEX mcp_task_seq ON mcp_task (seq);
CREATE INDEX mcp_task_worker ON mcp_task (worker) WHERE worker <> '';
CREATE INDEX mcp_task_unfinished ON mcp_task (owner, created_at, id) WHERE status IN ('working', 'input_required');
CREATE INDEX mcp_task_waiting ON mcp_task (status, parked_until) WHERE worker = '' AND status IN ('working', 'input_required');
CREATE INDEX mcp_task_expires ON mcp_task (expires_at) WHERE expires_at IS NOT NULL;

-- Arguments and results that are large.
CREATE TABLE mcp_part (
  task_id text NOT NULL,
  kind    text NOT NULL,
  part    integer NOT NULL,
  bytes   blob NOT NULL,
  PRIMARY KEY (task_id, kind, part)
);

-- What a second call joins by: a digest of owner, tool and key or identity.
CREATE TABLE mcp_hold (hold blob PRIMARY KEY, task_id text NOT NULL) WITHOUT ROWID;
CREATE INDEX mcp_hold_task ON mcp_hold (task_id);

CREATE TABLE mcp_worker (
  id     text PRIMARY KEY,
  beat   integer NOT NULL,
  until  integer,                          -- for those who tell the time of their end themselves
  dead   boolean NOT NULL,
  locked boolean NOT NULL,                 -- it holds a lock that goes with it
  host   text NOT NULL,
  pid    integer NOT NULL
) WITHOUT ROWID;
