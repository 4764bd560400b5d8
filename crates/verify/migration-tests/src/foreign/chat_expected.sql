-- The expected items and rejects of the chat.
CREATE VIEW expected.users AS
SELECT *, 'USER#' || id AS owner, lower(handle::text) AS handle_key,
    CASE WHEN deleted_at IS NOT NULL THEN 'deleted' WHEN NOT expected.readable(created_at) THEN 'unreadable-time' END AS fault
FROM users;

CREATE VIEW expected.rooms AS
SELECT *, 'ROOM#' || id AS owner, lower(btrim(slug)) AS name, coalesce(updated_at, created_at) AS updated,
    CASE WHEN deleted_at IS NOT NULL THEN 'deleted' END AS fault
FROM rooms;

CREATE VIEW expected.members AS
SELECT members.*, owner,
    CASE
        WHEN fault IS NOT NULL THEN fault
        WHEN users.deleted_at IS NOT NULL THEN 'deleted-user'
        WHEN NOT isfinite(joined_at) THEN 'unreadable-time'
        WHEN NOT expected.storable(volume) THEN 'unreadable-number'
    END AS fault
FROM members JOIN expected.rooms ON rooms.id = room_id JOIN users ON users.id = user_id;

-- Some messages have a room that never existed.
CREATE VIEW expected.messages AS
SELECT messages.*, owner, CASE WHEN rooms.id IS NULL THEN 'orphan' ELSE fault END AS owner_fault,
    CASE
        WHEN rooms.id IS NULL THEN 'orphan'
        WHEN fault IS NOT NULL THEN fault
        WHEN messages.deleted_at IS NOT NULL THEN 'deleted'
        WHEN expires_at <= now() THEN 'expired'
        WHEN messages.id < 0 THEN 'invalid-value'
        WHEN NOT expected.readable(sent_at) THEN 'unreadable-time'
        WHEN octet_length(body) > 409600 THEN 'too-large'
    END AS fault
FROM messages LEFT JOIN expected.rooms ON rooms.id = room_id;

CREATE VIEW expected.invites AS
SELECT invites.*, owner, encode(sha256(token::text::bytea), 'hex') AS hash,
    CASE
        WHEN room_id IS NULL THEN 'missing-value'
        WHEN fault IS NOT NULL THEN fault
        WHEN expires_at <= now() THEN 'expired'
        WHEN uses >= uses_max THEN 'used-up'
    END AS fault
FROM invites LEFT JOIN expected.rooms ON rooms.id = room_id;

CREATE VIEW expected.readable_devices AS
SELECT devices.*, owner, lower(btrim(platform)) AS kind, encode(sha256(convert_to(lower(btrim(push_token)), 'UTF8')), 'hex') AS hash,
    CASE
        WHEN users.id IS NULL THEN 'orphan'
        WHEN fault = 'deleted' THEN 'deleted'
        WHEN fault IS NOT NULL THEN 'orphan'
        WHEN platform IS NULL OR lower(btrim(platform)) NOT IN ('ios', 'android', 'web') THEN 'unknown-platform'
        WHEN push_token IS NULL THEN 'missing-value'
    END AS fault
FROM devices LEFT JOIN expected.users ON users.id = user_id;

-- A token belongs to the device that was added last.
CREATE VIEW expected.devices AS
SELECT *, coalesce(own_fault, CASE WHEN place > 1 THEN 'duplicate-token' END) AS fault
FROM (
    SELECT id, user_id, owner, kind, hash, push_token, addresses, last_address, last_seen_on, created_at, fault AS own_fault,
        row_number() OVER (PARTITION BY fault IS NULL, hash ORDER BY created_at DESC, id DESC) AS place
    FROM expected.readable_devices
) AS ranked;

CREATE VIEW expected.slugs AS
SELECT *, row_number() OVER (PARTITION BY name ORDER BY created_at, id) AS place
FROM expected.rooms WHERE fault IS NULL AND expected.key_part(name);

CREATE VIEW expected.direct_rooms AS
SELECT *, row_number() OVER (PARTITION BY lower(direct_key) ORDER BY created_at DESC, id DESC) AS place
FROM expected.rooms WHERE fault IS NULL AND kind = 'direct';

CREATE VIEW expected.items AS
SELECT owner AS pk, 'PROFILE' AS sk, expected.attributes('user', owner, jsonb_build_object(
    'Handle', handle, 'DisplayName', nullif(btrim(display_name), ''), 'Bio', bio, 'StatusEmoji', nullif(status_emoji, ''),
    'QuietFrom', quiet_from, 'QuietHours', quiet_from || ' to ' || quiet_to,
    'Settings', CASE WHEN expected.storable(settings) THEN settings END, 'CreatedAt', expected.instant(created_at))) AS attributes
FROM expected.users WHERE fault IS NULL
UNION ALL
SELECT 'HANDLE#' || handle_key, 'HANDLE', expected.attributes('handle', owner, '{}')
FROM expected.users WHERE fault IS NULL AND expected.key_part(handle_key)
UNION ALL
SELECT owner, 'ROOM', expected.attributes('room', owner, jsonb_build_object(
    'Kind', upper(kind::text), 'Slug', slug, 'DirectKey', direct_key, 'Topic', nullif(topic, ''), 'Retention', retention::text,
    'Settings', settings, 'Icon', expected.bytes(icon), 'Creator', created_by,
    'CreatedAt', expected.instant(created_at), 'UpdatedAt', expected.instant(updated)))
FROM expected.rooms WHERE fault IS NULL
UNION ALL
SELECT 'SLUG#' || name, 'SLUG', expected.attributes('slug', owner, '{}') FROM expected.slugs WHERE place = 1
UNION ALL
SELECT 'DIRECT#' || lower(direct_key), 'DIRECT', expected.attributes('direct', owner, '{}') FROM expected.direct_rooms WHERE place = 1
UNION ALL
SELECT owner, 'MEMBER#' || user_id, expected.attributes('member', owner, jsonb_build_object(
    'Role', CASE role WHEN 'owner' THEN 'OWNER' WHEN 'moderator' THEN 'MODERATOR' ELSE 'MEMBER' END, 'IsMuted', role = 'muted',
    'Nickname', nullif(nickname, ''), 'JoinedAt', expected.instant(joined_at AT TIME ZONE 'UTC'), 'LastRead', last_read_id,
    'MutedDuring', muted_during::text, 'Volume', volume))
FROM expected.members WHERE fault IS NULL
UNION ALL
SELECT 'INBOX#' || user_id, owner, expected.attributes('inbox', owner, '{}') FROM expected.members WHERE fault IS NULL
UNION ALL
SELECT owner, 'MESSAGE#' || lpad(id::text, 19, '0'), expected.attributes('message', owner, jsonb_build_object(
    'Author', author_id, 'Body', body, 'Length', body_length, 'Mentions', expected.text_set(VARIADIC mentions::text[]),
    'Attachments', attachments, 'ReplyTo', reply_to, 'Place', place::text, 'SentAt', expected.instant(sent_at),
    'EditedAt', expected.instant(edited_at), 'UpdatedAt', expected.instant(coalesce(edited_at, sent_at)),
    'TTL', floor(extract(epoch FROM expires_at)),
    'IsPinned', EXISTS (SELECT FROM pins WHERE pins.room_id = messages.room_id AND message_id = id),
    'Reactions', (SELECT coalesce(jsonb_agg(jsonb_build_object('User', user_id, 'Emoji', emoji) ORDER BY created_at, user_id, emoji), '[]')
        FROM reactions WHERE reactions.room_id = messages.room_id AND message_id = id)))
FROM expected.messages WHERE fault IS NULL
UNION ALL
SELECT owner, 'INVITE#' || left(hash, 16), expected.attributes('room_invite', owner, jsonb_build_object(
    'Hash', hash, 'InvitedBy', invited_by, 'Uses', uses, 'UsesMax', uses_max, 'CreatedAt', expected.instant(created_at),
    'TTL', CASE WHEN isfinite(expires_at) THEN floor(extract(epoch FROM expires_at)) END))
FROM expected.invites WHERE fault IS NULL
UNION ALL
SELECT 'INVITE#' || hash, 'INVITE', expected.attributes('invite', owner, jsonb_build_object(
    'Hash', hash, 'TTL', CASE WHEN isfinite(expires_at) THEN floor(extract(epoch FROM expires_at)) END))
FROM expected.invites WHERE fault IS NULL
UNION ALL
SELECT owner, 'DEVICE#' || kind || '#' || left(hash, 32), expected.attributes('device', owner, jsonb_build_object(
    'PushToken', push_token, 'Addresses', (SELECT jsonb_build_object('$set', jsonb_agg(one ORDER BY one COLLATE "C"))
        FROM (SELECT DISTINCT to_jsonb(address) #>> '{}' AS one FROM unnest(addresses) AS address) AS texts HAVING count(*) > 0),
    'LastAddress', last_address, 'LastSeenOn', CASE WHEN isfinite(last_seen_on) THEN expected.day(last_seen_on) END,
    'CreatedAt', expected.instant(created_at)))
FROM expected.devices WHERE fault IS NULL
UNION ALL
SELECT 'TOKEN#' || hash, 'TOKEN', expected.attributes('token', owner, jsonb_build_object('Kind', kind))
FROM expected.devices WHERE fault IS NULL;

-- Rows that are rejected, and parts that are left out of rows that are not.
CREATE VIEW expected.rejects AS
SELECT source, reason, count(*) FROM (
    SELECT 'users' AS source, fault AS reason FROM expected.users
    UNION ALL SELECT 'users', 'unreadable-json' FROM expected.users WHERE fault IS NULL AND NOT expected.storable(settings)
    UNION ALL SELECT 'users', 'invalid-id' FROM expected.users WHERE fault IS NULL AND NOT expected.key_part(handle_key)
    UNION ALL SELECT 'rooms', fault FROM expected.rooms
    UNION ALL SELECT 'rooms', 'invalid-id' FROM expected.rooms WHERE fault IS NULL AND NOT expected.key_part(name)
    UNION ALL SELECT 'rooms', 'duplicate-slug' FROM expected.slugs WHERE place > 1
    UNION ALL SELECT 'rooms', 'duplicate-direct' FROM expected.direct_rooms WHERE place > 1
    UNION ALL SELECT 'members', fault FROM expected.members
    UNION ALL SELECT 'messages', fault FROM expected.messages
    UNION ALL SELECT 'reactions', owner_fault FROM reactions JOIN expected.messages
        ON messages.room_id = reactions.room_id AND messages.id = message_id
    UNION ALL SELECT 'pins', owner_fault FROM pins JOIN expected.messages ON messages.room_id = pins.room_id AND messages.id = message_id
    UNION ALL SELECT 'invites', fault FROM expected.invites
    UNION ALL SELECT 'devices', fault FROM expected.devices
    UNION ALL SELECT 'devices', 'unreadable-time' FROM expected.devices WHERE fault IS NULL AND NOT isfinite(last_seen_on)
) AS all_rejects WHERE reason IS NOT NULL GROUP BY source, reason;
