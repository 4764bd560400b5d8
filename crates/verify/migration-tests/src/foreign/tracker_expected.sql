-- The expected items and rejects of the issue tracker.
CREATE VIEW expected.users AS
SELECT *, 'USER#' || id AS owner, lower(btrim(login)) AS login_key, lower(email::text) AS address,
    CASE WHEN deleted_at IS NOT NULL THEN 'deleted' END AS fault
FROM users;

CREATE VIEW expected.projects AS
SELECT *, 'PROJECT#' || id AS owner, CASE WHEN deleted_at IS NOT NULL THEN 'deleted' END AS fault FROM projects;

-- The only other reason why an owner is not migrated would be a fault of the owner's own row, and
-- neither users nor projects have one.
CREATE VIEW expected.members AS
SELECT members.*, owner,
    CASE
        WHEN fault IS NOT NULL THEN fault
        WHEN users.deleted_at IS NOT NULL THEN 'deleted-user'
        WHEN NOT expected.readable(joined_at) THEN 'unreadable-time'
    END AS fault
FROM members JOIN expected.projects ON projects.id = project_id JOIN users ON users.id = user_id;

-- Of labels that differ only in spaces the newer one stays.
CREATE VIEW expected.labels AS
SELECT *, coalesce(owner_fault, CASE WHEN place > 1 THEN 'duplicate-label' END) AS fault
FROM (
    SELECT labels.*, owner, fault AS owner_fault, btrim(labels.name::text) AS label, row_number() OVER (
        PARTITION BY project_id, lower(btrim(labels.name::text)) ORDER BY labels.created_at DESC, labels.name::text COLLATE "C" DESC
    ) AS place
    FROM labels JOIN expected.projects ON projects.id = project_id
) AS ranked;

CREATE VIEW expected.issues AS
SELECT issues.*, owner, coalesce(time_zone, 'UTC') AS time_zone, lpad(number::text, 10, '0') AS sort, coalesce(priority, 3) AS rank,
    CASE
        WHEN fault IS NOT NULL THEN fault
        WHEN issues.deleted_at IS NOT NULL THEN 'deleted'
        WHEN time_zone = 'Moon/Base' THEN 'unknown-value'
        WHEN octet_length(body) > 409600 THEN 'too-large'
    END AS fault
FROM issues JOIN expected.projects ON projects.id = project_id;

CREATE VIEW expected.comments AS
SELECT comments.*, owner,
    CASE
        WHEN fault IS NOT NULL THEN fault
        WHEN issues.number IS NULL THEN 'no-issue'
        WHEN issues.deleted_at IS NOT NULL THEN 'deleted-issue'
        WHEN NOT expected.readable(comments.created_at) THEN 'unreadable-time'
        WHEN comments.deleted_at IS NULL AND octet_length(comments.body) > 409600 THEN 'too-large'
    END AS fault
FROM comments JOIN expected.projects ON projects.id = comments.project_id
LEFT JOIN issues ON issues.project_id = comments.project_id AND number = issue_number;

CREATE VIEW expected.attachments AS
SELECT attachments.*, owner, CASE WHEN comment_id IS NULL THEN 'missing-value' ELSE fault END AS owner_fault,
    CASE
        WHEN comment_id IS NULL THEN 'missing-value'
        WHEN fault IS NOT NULL THEN fault
        WHEN scan = 'infected' THEN 'infected'
        WHEN octet_length(content) > 409600 THEN 'too-large'
    END AS fault
FROM attachments LEFT JOIN comments ON comments.id = comment_id LEFT JOIN expected.projects ON projects.id = project_id;

CREATE VIEW expected.thumbnails AS
SELECT thumbnails.*, owner, coalesce(owner_fault, CASE WHEN scan = 'infected' THEN 'infected' END) AS fault
FROM thumbnails JOIN expected.attachments ON attachments.id = attachment_id;

CREATE VIEW expected.watches AS
SELECT watches.*, 'USER#' || user_id AS owner,
    CASE
        WHEN users.id IS NULL THEN 'orphan'
        WHEN fault IS NOT NULL THEN fault
        WHEN projects.deleted_at IS NOT NULL THEN 'deleted-project'
    END AS fault
FROM watches LEFT JOIN expected.users ON users.id = user_id JOIN projects ON projects.id = project_id;

CREATE VIEW expected.logins AS
SELECT *, row_number() OVER (PARTITION BY login_key ORDER BY id) AS place
FROM expected.users WHERE fault IS NULL AND expected.key_part(login_key);

CREATE VIEW expected.addresses AS
SELECT *, row_number() OVER (PARTITION BY address ORDER BY id) AS place
FROM expected.users WHERE fault IS NULL AND expected.key_part(address);

-- Old preferences that are JSON at all.
CREATE VIEW expected.preferences AS
SELECT id, CASE WHEN preferences NOT IN ('', '{"broken":') THEN preferences::jsonb END AS value, preferences = '{"broken":' AS is_broken
FROM expected.users WHERE fault IS NULL;

CREATE VIEW expected.items AS
SELECT owner AS pk, 'PROFILE' AS sk, expected.attributes('user', owner, jsonb_build_object(
    'Login', login, 'Email', email, 'Name', name, 'TimeZone', time_zone, 'IsAdmin', is_admin, 'Settings', settings::jsonb,
    'Preferences', CASE WHEN expected.storable(value) THEN value END,
    'CreatedAt', expected.instant(expected.local_time(created_at, coalesce(time_zone, 'UTC'))),
    'LastSeenAt', CASE WHEN expected.readable(last_seen_at) THEN expected.instant(last_seen_at) END)) AS attributes
FROM expected.users JOIN expected.preferences USING (id)
UNION ALL
SELECT 'LOGIN#' || login_key, 'LOGIN', expected.attributes('login', owner, '{}') FROM expected.logins WHERE place = 1
UNION ALL
SELECT 'EMAIL#' || address, 'EMAIL', expected.attributes('email', owner, '{}') FROM expected.addresses WHERE place = 1
UNION ALL
SELECT owner, 'PROJECT', expected.attributes('project', owner, jsonb_build_object(
    'Key', key, 'Name', nullif(btrim(name), ''), 'Visibility', upper(visibility::text), 'Lead', lead_id, 'TimeZone', time_zone,
    'Settings', settings, 'Budget', budget, 'StartsOn', CASE WHEN isfinite(starts_on) THEN expected.day(starts_on) END,
    'CreatedAt', expected.instant(created_at), 'UpdatedAt', expected.instant(updated_at)))
FROM expected.projects WHERE fault IS NULL
UNION ALL
SELECT 'KEY#' || key, 'KEY', expected.attributes('project_key', owner, '{}') FROM expected.projects WHERE fault IS NULL
UNION ALL
SELECT owner, 'MEMBER#' || lpad(user_id::text, 10, '0'), expected.attributes('member', owner, jsonb_build_object(
    'Role', upper(role::text), 'JoinedAt', expected.instant(joined_at), 'GSI1PK', 'USER#' || user_id, 'GSI1SK', owner))
FROM expected.members WHERE fault IS NULL
UNION ALL
SELECT owner, 'LABEL#' || lower(label), expected.attributes('label', owner, jsonb_build_object(
    'Name', label, 'Color', '#' || color, 'Placeholder', '{' || name || '}'))
FROM expected.labels WHERE fault IS NULL
UNION ALL
SELECT owner, 'ISSUE#' || sort, expected.attributes('issue', owner, jsonb_build_object(
        'Title', title, 'Body', body, 'Priority', rank, 'Reporter', reporter_id, 'Assignee', assignee_id, 'Parent', parent_number,
        'State', CASE state WHEN 'open' THEN 'OPEN' WHEN 'in progress' THEN 'DOING' ELSE 'CLOSED' END,
        'BoardKey', CASE WHEN rank >= 0 THEN upper(state::text) || '#' || lpad(rank::text, 5, '0') END,
        'DueOn', CASE WHEN expected.readable(due_on) THEN expected.day(due_on) END, 'Estimate', estimate::text, 'Votes', votes,
        'ExternalIds', (SELECT jsonb_build_object('$set', jsonb_agg(DISTINCT one)) FROM unnest(external_ids) AS one
            WHERE one IS NOT NULL HAVING count(*) > 0),
        'Custom', CASE WHEN expected.storable(custom) THEN custom END)
    || jsonb_build_object(
        'Labels', (SELECT coalesce(jsonb_agg(jsonb_build_object('Name', label) ORDER BY label), '[]') FROM issue_labels
            WHERE issue_labels.project_id = issues.project_id AND issue_number = number),
        'OpenedOn', expected.day((created_at AT TIME ZONE time_zone)::date), 'CreatedAt', expected.instant(created_at),
        'ClosedAt', expected.instant(closed_at), 'UpdatedAt', expected.instant(updated_at)))
FROM expected.issues WHERE fault IS NULL
UNION ALL
SELECT 'ISSUE#' || public_id, 'ISSUE', expected.attributes('issue_id', owner, jsonb_build_object(
    'Number', number, 'UpdatedAt', expected.instant(updated_at)))
FROM expected.issues WHERE fault IS NULL
UNION ALL
SELECT 'ASSIGNEE#' || assignee_id, owner || '#' || sort, expected.attributes('assignment', owner, jsonb_build_object(
    'Title', title, 'Priority', rank, 'UpdatedAt', expected.instant(updated_at)))
FROM expected.issues WHERE fault IS NULL AND assignee_id IS NOT NULL AND state IN ('open', 'in progress')
UNION ALL
SELECT owner, 'ISSUE#' || lpad(issue_number::text, 10, '0') || '#COMMENT#' || expected.sortable(created_at) || '#' || lpad(id::text, 19, '0'),
    expected.attributes('comment', owner, jsonb_build_object(
        'Author', author_id, 'Body', CASE WHEN deleted_at IS NULL THEN body END, 'IsDeleted', deleted_at IS NOT NULL,
        'Mentions', (SELECT jsonb_build_object('$set', jsonb_agg(DISTINCT one)) FROM unnest(mentions) AS one HAVING count(*) > 0),
        'Reactions', reactions, 'CreatedAt', expected.instant(created_at), 'EditedAt', expected.instant(edited_at),
        'UpdatedAt', expected.instant(coalesce(edited_at, created_at))))
FROM expected.comments WHERE fault IS NULL
UNION ALL
SELECT owner, 'ATTACHMENT#' || id, expected.attributes('attachment', owner, jsonb_build_object(
    'Comment', comment_id, 'FileName', nullif(file_name, ''), 'Bytes', bytes, 'Content', expected.bytes(content), 'Scan', scan,
    'Scale', CASE WHEN expected.storable(scale::text::numeric) THEN scale::text::numeric END,
    'CreatedAt', expected.instant(created_at)))
FROM expected.attachments WHERE fault IS NULL
UNION ALL
SELECT owner, 'ATTACHMENT#' || attachment_id || '#THUMBNAIL', expected.attributes('thumbnail', owner, jsonb_build_object(
    'Size', width || ' x ' || height, 'Image', expected.bytes(image)))
FROM expected.thumbnails WHERE fault IS NULL
UNION ALL
SELECT owner, 'WATCH#' || project_id || '#' || lpad(issue_number::text, 10, '0'), expected.attributes('watch', owner, jsonb_build_object(
    'CreatedAt', expected.instant(created_at), 'IsMuted', muted_until IS NOT NULL AND NOT isfinite(muted_until),
    'MutedUntil', CASE WHEN isfinite(muted_until) THEN expected.instant(muted_until) END))
FROM expected.watches WHERE fault IS NULL;

-- Rows that are rejected, and parts that are left out of rows that are not.
CREATE VIEW expected.rejects AS
SELECT source, reason, count(*) FROM (
    SELECT 'users' AS source, fault AS reason FROM expected.users
    UNION ALL SELECT 'users', 'unreadable-json' FROM expected.preferences WHERE is_broken OR NOT expected.storable(value)
    UNION ALL SELECT 'users', 'unreadable-time' FROM expected.users WHERE fault IS NULL AND NOT expected.readable(last_seen_at)
    UNION ALL SELECT 'users', 'invalid-id' FROM expected.users WHERE fault IS NULL AND NOT expected.key_part(login_key)
    UNION ALL SELECT 'users', 'duplicate-login' FROM expected.logins WHERE place > 1
    UNION ALL SELECT 'users', 'duplicate-email' FROM expected.addresses WHERE place > 1
    UNION ALL SELECT 'projects', fault FROM expected.projects
    UNION ALL SELECT 'projects', 'unreadable-time' FROM expected.projects WHERE fault IS NULL AND NOT isfinite(starts_on)
    UNION ALL SELECT 'members', fault FROM expected.members
    UNION ALL SELECT 'labels', fault FROM expected.labels
    UNION ALL SELECT 'issues', fault FROM expected.issues
    UNION ALL SELECT 'issues', 'missing-priority' FROM expected.issues WHERE fault IS NULL AND priority IS NULL
    UNION ALL SELECT 'issues', 'invalid-value' FROM expected.issues WHERE fault IS NULL AND rank < 0
    UNION ALL SELECT 'issues', 'unreadable-time' FROM expected.issues WHERE fault IS NULL AND NOT expected.readable(due_on)
    UNION ALL SELECT 'issues', 'unreadable-json' FROM expected.issues WHERE fault IS NULL AND NOT expected.storable(custom)
    UNION ALL SELECT 'issue_labels', fault FROM issue_labels JOIN expected.projects ON projects.id = project_id
    UNION ALL SELECT 'comments', fault FROM expected.comments
    UNION ALL SELECT 'attachments', fault FROM expected.attachments
    UNION ALL SELECT 'attachments', 'unreadable-number' FROM expected.attachments
        WHERE fault IS NULL AND NOT expected.storable(scale::text::numeric)
    UNION ALL SELECT 'thumbnails', fault FROM expected.thumbnails
    UNION ALL SELECT 'watches', fault FROM expected.watches
) AS all_rejects WHERE reason IS NOT NULL GROUP BY source, reason;
