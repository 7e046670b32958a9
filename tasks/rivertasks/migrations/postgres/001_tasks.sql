CREATE TABLE mcp_store (epoch text NOT NULL);
CREATE TABLE mcp_task (
  id           text PRIMARY KEY,
  version      bigint NOT NULL,
  owner        bytea NOT NULL,              -- digest
  tool         text NOT NULL,
  status       text NOT NULL,
  run          bigint NOT NULL,
  worker       text NOT NULL,              -- '' if nobody runs it
  queue        text NOT NULL,              -- River's, for each run
  job_id       bigint NOT NULL,           -- of the run that waits or was handed out; 0 if none was
  disclosed    boolean NOT NULL,
  created_at   bigint NOT NULL,           -- times in ns since 1970
  updated_at   bigint NOT NULL,
  expires_at   bigint,
  parked_until bigint,
  body         bytea NOT NULL,              -- the rest of the record, as JSON
  arguments    bytea,                       -- NULL if in mcp_part
  result       bytea                        -- NULL if there is none, or if in mcp_part
);
CREATE INDEX mcp_task_worker ON mcp_task (worker) WHERE worker <> '';
CREATE INDEX mcp_task_unfinished ON mcp_task (owner, created_at, id) WHERE status IN ('working', 'input_required');
CREATE INDEX mcp_task_waiting ON mcp_task (status, parked_until) WHERE worker = '' AND status IN ('working', 'input_required');
CREATE INDEX mcp_task_expires ON mcp_task (expires_at) WHERE expires_at IS NOT NULL;

-- Arguments and results that are large.
CREATE TABLE mcp_part (
  task_id text NOT NULL,
  kind    text NOT NULL,
  part    bigint NOT NULL,
  bytes   bytea NOT NULL,
  PRIMARY KEY (task_id, kind, part)
);

-- What a second call joins by: a digest of owner, tool and key or identity.
CREATE TABLE mcp_hold (hold bytea PRIMARY KEY, task_id text NOT NULL);
CREATE INDEX mcp_hold_task ON mcp_hold (task_id);

CREATE TABLE mcp_worker (
  id     text PRIMARY KEY,
  beat   bigint NOT NULL,
  until  bigint,                          -- for those who tell the time of their end themselves
  dead   boolean NOT NULL,
  locked boolean NOT NULL,                 -- it holds a lock that goes with it
  host   text NOT NULL,
  pid    bigint NOT NULL
);
