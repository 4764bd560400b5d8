-- A chat: rooms with members, messages, reactions and invitations, users with devices.
CREATE EXTENSION IF NOT EXISTS citext;

CREATE TYPE room_kind AS ENUM ('channel', 'group', 'direct');
CREATE TYPE role AS ENUM ('owner', 'moderator', 'member', 'muted');

CREATE TABLE users (
    id uuid PRIMARY KEY,
    handle citext NOT NULL UNIQUE,
    display_name text,
    bio text,
    status_emoji text,
    quiet_from time,
    quiet_to time,
    settings jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz
);

CREATE TABLE rooms (
    -- Made by the application from the time and a counter.
    id bigint PRIMARY KEY,
    kind room_kind NOT NULL,
    slug text,
    -- The handles of both people of a direct room, as they were written.
    direct_key text,
    topic text,
    retention interval,
    settings jsonb,
    icon bytea,
    created_by uuid REFERENCES users ON DELETE SET NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz,
    deleted_at timestamptz,
    slug_key text GENERATED ALWAYS AS (lower(slug)) STORED,
    CHECK ((kind = 'direct') = (direct_key IS NOT NULL))
);
CREATE UNIQUE INDEX rooms_slug ON rooms (slug_key) WHERE deleted_at IS NULL;

CREATE TABLE members (
    room_id bigint NOT NULL REFERENCES rooms ON DELETE CASCADE,
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    role role NOT NULL DEFAULT 'member',
    nickname varchar(80),
    -- UTC, by an old convention.
    joined_at timestamp,
    last_read_id bigint,
    muted_during tstzrange,
    volume numeric NOT NULL DEFAULT 1,
    PRIMARY KEY (room_id, user_id)
);

-- The rooms of messages are not checked, for speed.
CREATE TABLE messages (
    room_id bigint NOT NULL,
    id bigint NOT NULL,
    author_id uuid REFERENCES users ON DELETE SET NULL,
    body text,
    mentions uuid[],
    attachments jsonb NOT NULL DEFAULT '[]',
    reply_to bigint,
    place point,
    sent_at timestamptz NOT NULL DEFAULT now(),
    edited_at timestamptz,
    expires_at timestamptz,
    deleted_at timestamptz,
    body_length integer GENERATED ALWAYS AS (length(body)) STORED,
    PRIMARY KEY (room_id, id)
);
CREATE INDEX messages_author ON messages (author_id) WHERE deleted_at IS NULL;

CREATE TABLE reactions (
    room_id bigint NOT NULL,
    message_id bigint NOT NULL,
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    emoji text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (room_id, message_id, user_id, emoji),
    FOREIGN KEY (room_id, message_id) REFERENCES messages ON DELETE CASCADE
);

CREATE TABLE pins (
    room_id bigint NOT NULL,
    message_id bigint NOT NULL,
    pinned_by uuid REFERENCES users ON DELETE SET NULL,
    pinned_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (room_id, message_id),
    FOREIGN KEY (room_id, message_id) REFERENCES messages ON DELETE CASCADE
);

CREATE TABLE invites (
    token uuid PRIMARY KEY,
    room_id bigint REFERENCES rooms ON DELETE CASCADE,
    invited_by uuid REFERENCES users ON DELETE SET NULL,
    uses integer NOT NULL DEFAULT 0,
    uses_max numeric(10,0),
    expires_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE devices (
    id bigserial PRIMARY KEY,
    user_id uuid NOT NULL,
    platform text,
    push_token text,
    addresses inet[],
    last_address inet,
    last_seen_on date,
    created_at timestamptz NOT NULL DEFAULT now()
);
-- A token belongs to one device, apart from spaces and case, since a release that did not check it.
CREATE INDEX devices_token ON devices (lower(push_token));

CREATE VIEW room_sizes AS SELECT room_id, count(*) AS members FROM members GROUP BY room_id;
CREATE MATERIALIZED VIEW recent_messages AS SELECT room_id, max(id) AS id FROM messages GROUP BY room_id;
