-- An issue tracker: projects with members, labels, issues, comments and attachments, users who watch.
CREATE EXTENSION IF NOT EXISTS citext;

CREATE TYPE visibility AS ENUM ('public', 'internal', 'private');
CREATE TYPE member_role AS ENUM ('guest', 'reporter', 'developer', 'Owner');
CREATE TYPE issue_state AS ENUM ('open', 'in progress', 'closed', 'won''t fix');
CREATE TYPE scan_state AS ENUM ('pending', 'clean', 'infected');

CREATE TABLE users (
    id serial PRIMARY KEY,
    login text NOT NULL,
    email citext,
    name varchar(200),
    password_hash text,
    time_zone text,
    is_admin boolean NOT NULL DEFAULT false,
    settings json,
    -- JSON that an old version wrote as text.
    preferences text,
    created_at timestamp NOT NULL DEFAULT now(),
    last_seen_at timestamptz,
    deleted_at timestamptz
);
CREATE UNIQUE INDEX users_login ON users (lower(login)) WHERE deleted_at IS NULL;

CREATE TABLE projects (
    id uuid PRIMARY KEY,
    key varchar(10) NOT NULL UNIQUE,
    name text NOT NULL,
    visibility visibility NOT NULL DEFAULT 'private',
    lead_id integer REFERENCES users ON DELETE SET NULL,
    time_zone text,
    settings jsonb NOT NULL DEFAULT '{}',
    budget numeric(38,10),
    starts_on date,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz
);

CREATE TABLE members (
    project_id uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    user_id integer NOT NULL REFERENCES users ON DELETE CASCADE,
    role member_role NOT NULL,
    joined_at timestamptz,
    PRIMARY KEY (project_id, user_id)
);

CREATE TABLE labels (
    project_id uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    name citext NOT NULL,
    color char(6) NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (project_id, name)
);

CREATE TABLE issues (
    project_id uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    number integer NOT NULL,
    public_id uuid NOT NULL UNIQUE,
    title text NOT NULL,
    body text,
    state issue_state NOT NULL DEFAULT 'open',
    priority smallint,
    reporter_id integer,
    assignee_id integer REFERENCES users ON DELETE SET NULL,
    parent_number integer,
    due_on date,
    estimate interval,
    votes bigint NOT NULL DEFAULT 0,
    external_ids bigint[],
    custom jsonb,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    closed_at timestamptz,
    deleted_at timestamptz,
    is_closed boolean GENERATED ALWAYS AS (state IN ('closed', 'won''t fix')) STORED,
    search tsvector GENERATED ALWAYS AS (to_tsvector('simple', title)) STORED,
    PRIMARY KEY (project_id, number),
    FOREIGN KEY (project_id, parent_number) REFERENCES issues DEFERRABLE INITIALLY DEFERRED
);
CREATE INDEX issues_assignee ON issues (assignee_id) WHERE deleted_at IS NULL;

CREATE TABLE issue_labels (
    project_id uuid NOT NULL,
    issue_number integer NOT NULL,
    label citext NOT NULL,
    PRIMARY KEY (project_id, issue_number, label),
    FOREIGN KEY (project_id, issue_number) REFERENCES issues ON DELETE CASCADE,
    FOREIGN KEY (project_id, label) REFERENCES labels ON UPDATE CASCADE ON DELETE CASCADE
);

-- Issues were purged by a job that forgot their comments, so there is no foreign key to them.
CREATE TABLE comments (
    id bigserial PRIMARY KEY,
    project_id uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    issue_number integer NOT NULL,
    author_id integer REFERENCES users ON DELETE SET NULL,
    body text NOT NULL,
    mentions integer[] NOT NULL DEFAULT '{}',
    reactions jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now(),
    edited_at timestamptz,
    deleted_at timestamptz
);
CREATE INDEX comments_issue ON comments (project_id, issue_number, created_at);

CREATE TABLE attachments (
    id uuid PRIMARY KEY,
    comment_id bigint REFERENCES comments ON DELETE SET NULL,
    file_name text NOT NULL,
    bytes bigint NOT NULL,
    scale real,
    content bytea,
    scan scan_state NOT NULL DEFAULT 'pending',
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE thumbnails (
    attachment_id uuid PRIMARY KEY REFERENCES attachments ON DELETE CASCADE,
    width integer NOT NULL,
    height integer NOT NULL,
    image bytea NOT NULL
);

CREATE TABLE watches (
    user_id integer NOT NULL,
    project_id uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    issue_number integer NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    muted_until timestamptz,
    PRIMARY KEY (user_id, project_id, issue_number)
);

CREATE VIEW open_issues AS
    SELECT projects.key || '-' || number AS id, title, assignee_id
    FROM issues JOIN projects ON projects.id = project_id
    WHERE NOT is_closed AND issues.deleted_at IS NULL;
