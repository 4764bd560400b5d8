//! What changes in the shop, the issue tracker and the chat.

use migration_tests::foreign;
use migration_tests::foreign_traffic::Column;

use super::Live;

const fn text(table: &'static str, name: &'static str) -> Column {
    Column { table, name, values: &[], rows: "true", owner: None, read: None, is_deleted: false }
}

const fn of(table: &'static str, name: &'static str, values: &'static [&'static str]) -> Column {
    Column { values, ..text(table, name) }
}

/// The rows are also deleted.
const fn leaf(column: Column) -> Column {
    Column { is_deleted: true, ..column }
}

const fn where_(rows: &'static str, column: Column) -> Column {
    Column { rows, ..column }
}

const fn through(owner: &'static str, column: Column) -> Column {
    Column { owner: Some(owner), ..column }
}

/// The library reads each value again, as this attribute of an item of this type.
const fn read(kind: &'static str, attribute: &'static str, column: Column) -> Column {
    Column { read: Some((kind, attribute)), ..column }
}

/// A row is marked as deleted, and is not any more.
const DELETED: &[&str] = &["null", "\"2025-05-05T05:05:05+00:00\""];

pub(crate) const SHOP: Live = Live {
    source: foreign::SHOP,
    thin: "
        DELETE FROM customers WHERE hashtext(id::text) % ONE_OF <> 0;
        DELETE FROM addresses WHERE customer_id NOT IN (SELECT id FROM customers);
        DELETE FROM orders WHERE id % ONE_OF <> 0;
        DELETE FROM order_lines WHERE order_id % ONE_OF <> 0;
        DELETE FROM products WHERE id % ONE_OF <> 0;
        UPDATE order_lines SET product_id = NULL WHERE product_id % ONE_OF <> 0;
        DELETE FROM reviews WHERE product_id % ONE_OF <> 0 OR customer_id NOT IN (SELECT id FROM customers);
        DELETE FROM stock_movements WHERE product_id % ONE_OF <> 0",
    changes: &[
        "UPDATE orders SET status = 'paid', note = coalesce(note, '') || '!' WHERE id / 50 % 7 = ROUND",
        "UPDATE orders SET customer_id = (SELECT id FROM customers ORDER BY id OFFSET ROUND LIMIT 1) WHERE id / 50 % 17 = ROUND",
        "DELETE FROM orders WHERE id / 50 % 23 = ROUND",
        "UPDATE order_lines SET quantity = quantity + 100 WHERE line_no = ROUND AND quantity < 1000000",
        "DELETE FROM order_lines WHERE line_no = ROUND + 1 AND order_id % 3 = 0",
        "DELETE FROM customers WHERE hashtext(id::text) % 1000 = 50 * ROUND",
        "INSERT INTO orders (id, customer_id, status, placed_at, total, updated_at)
            SELECT 2000000 + ROUND * 100 + row_number() OVER (ORDER BY id), id, 'placed', timestamp '2025-05-05 10:00', ROUND, '2025-05-05'
            FROM customers ORDER BY id LIMIT 20",
        "UPDATE products SET price = price + 1, discontinued = NOT discontinued WHERE id / 50 % 5 = ROUND AND price < 1000000",
        "INSERT INTO stock_movements SELECT 10000000 + id * 100 + ROUND, id, ROUND, 'again', '2025-06-01' FROM products",
    ],
    columns: &[
        text("customers", "name"),
        where_(
            "EXISTS (SELECT FROM expected.items WHERE pk = 'CUSTOMER#' || this.id AND sk = 'PROFILE')",
            read("customer", "Phone", text("customers", "phone")),
        ),
        // A row that DynamoDB cannot store would set its customer aside when it is inserted again.
        where_("line_no >= 0 AND upper(country) IN ('DE', 'JP', 'US')", leaf(text("addresses", "recipient"))),
        where_("octet_length(description) < 1000", text("products", "description")),
        text("orders", "note"),
        of("orders", "status", &["\"draft\"", "\"paid\"", "\"shipped\""]),
        leaf(through(
            "(SELECT customer_id FROM orders WHERE orders.id = this.order_id)",
            of("order_lines", "quantity", &["7", "8", "-9"]),
        )),
        leaf(text("reviews", "body")),
        leaf(text("stock_movements", "reason")),
    ],
    parents: &[
        (
            "products",
            "SELECT to_jsonb(products) FROM products JOIN order_lines ON product_id = products.id ORDER BY 1 LIMIT 1",
        ),
        (
            "customers",
            "SELECT to_jsonb(customers) FROM customers JOIN reviews ON customer_id = customers.id ORDER BY 1 LIMIT 1",
        ),
    ],
};

pub(super) const TRACKER: Live = Live {
    source: foreign::TRACKER,
    thin: "
        DELETE FROM users WHERE id % ONE_OF <> 0;
        DELETE FROM projects WHERE hashtext(id::text) % ONE_OF <> 0;
        UPDATE projects SET lead_id = NULL WHERE lead_id % ONE_OF <> 0;
        DELETE FROM members WHERE project_id NOT IN (SELECT id FROM projects);
        UPDATE members SET user_id = (user_id / ONE_OF + 1) * ONE_OF WHERE (project_id, (user_id / ONE_OF + 1) * ONE_OF) NOT IN (SELECT project_id, user_id FROM members) AND user_id % 9 = 0 AND user_id < 1900;
        DELETE FROM members WHERE user_id % ONE_OF <> 0;
        DELETE FROM labels WHERE project_id NOT IN (SELECT id FROM projects);
        DELETE FROM issues WHERE project_id NOT IN (SELECT id FROM projects);
        UPDATE issues SET assignee_id = (assignee_id / ONE_OF + 1) * ONE_OF WHERE assignee_id < 1900;
        UPDATE issues SET assignee_id = NULL WHERE assignee_id % ONE_OF <> 0;
        DELETE FROM issue_labels WHERE project_id NOT IN (SELECT id FROM projects);
        DELETE FROM comments WHERE project_id NOT IN (SELECT id FROM projects);
        UPDATE comments SET author_id = NULL WHERE author_id % ONE_OF <> 0;
        DELETE FROM attachments WHERE comment_id NOT IN (SELECT id FROM comments);
        DELETE FROM thumbnails WHERE attachment_id NOT IN (SELECT id FROM attachments);
        DELETE FROM watches WHERE project_id NOT IN (SELECT id FROM projects);
        UPDATE watches SET user_id = (user_id / ONE_OF + 1) * ONE_OF",
    changes: &[
        "UPDATE issues SET state = 'closed', votes = votes + 1, updated_at = '2025-07-01' WHERE number % 7 = ROUND AND votes < 1000000",
        "UPDATE issues SET number = number + 500000 WHERE number % 11 = ROUND AND number < 100000 AND parent_number IS NULL
            AND NOT EXISTS (SELECT FROM issue_labels WHERE issue_labels.project_id = issues.project_id AND issue_number = number)
            AND NOT EXISTS (SELECT FROM issues AS child WHERE child.project_id = issues.project_id AND child.parent_number = issues.number)",
        "UPDATE issues SET deleted_at = CASE WHEN deleted_at IS NULL THEN timestamptz '2025-07-07' END WHERE number % 13 = ROUND",
        "UPDATE users SET deleted_at = CASE WHEN deleted_at IS NULL THEN timestamptz '2025-07-07' END WHERE id / 50 % 9 = ROUND AND id % 20 NOT IN (18, 19) AND id % 15 NOT IN (1, 2)",
        "UPDATE projects SET deleted_at = CASE WHEN deleted_at IS NULL THEN timestamptz '2025-07-07' END WHERE hashtext(id::text) / 50 % 5 = ROUND",
        "DELETE FROM comments WHERE id % 17 = ROUND",
        "INSERT INTO comments (id, project_id, issue_number, body, created_at)
            SELECT 2000000 + ROUND * 1000 + row_number() OVER (ORDER BY id), id, ROUND + 1, 'ROUND', timestamptz '2025-07-07 07:07' FROM projects",
        "UPDATE attachments SET scan = 'infected' WHERE bytes % 19 = ROUND",
        "UPDATE labels SET name = name || '-ROUND' WHERE color < '3'",
        "DELETE FROM users WHERE id / 50 % 31 = ROUND AND id % 20 NOT IN (18, 19) AND id % 15 NOT IN (1, 2)",
    ],
    columns: &[
        text("users", "name"),
        where_("id % 20 NOT IN (18, 19) AND id % 15 NOT IN (1, 2)", of("users", "deleted_at", DELETED)),
        of("projects", "starts_on", &["null", "\"2025-05-05\""]),
        of("projects", "deleted_at", DELETED),
        leaf(of("members", "role", &["\"guest\"", "\"Owner\""])),
        of("labels", "color", &["\"00ff00\"", "\"abcdef\""]),
        text("issues", "title"),
        of("issues", "state", &["\"open\"", "\"closed\""]),
        of("issues", "deleted_at", DELETED),
        where_("octet_length(body) < 1000", text("comments", "body")),
        through("(SELECT project_id FROM comments WHERE comments.id = this.comment_id)", of("attachments", "scan", &["\"clean\"", "\"infected\""])),
        leaf(through("(SELECT project_id FROM comments JOIN attachments ON comments.id = comment_id WHERE attachments.id = this.attachment_id)",
            of("thumbnails", "width", &["1", "2", "3"]))),
        leaf(of("watches", "muted_until", &["null", "\"infinity\""])),
    ],
    parents: &[
        ("users", "SELECT to_jsonb(users) FROM users JOIN members ON user_id = users.id ORDER BY users.id LIMIT 1"),
        ("comments", "SELECT to_jsonb(comments) FROM comments JOIN attachments ON comment_id = comments.id ORDER BY comments.id LIMIT 1"),
        ("projects", "SELECT to_jsonb(projects) FROM projects ORDER BY (SELECT count(*) FROM issues WHERE project_id = projects.id), id LIMIT 1"),
    ],
};

pub(super) const CHAT: Live = Live {
    source: foreign::CHAT,
    thin: "
        CREATE TEMP TABLE kept AS SELECT id FROM users WHERE hashtext(id::text) % ONE_OF = 0;
        CREATE TEMP TABLE rooms_kept AS SELECT id FROM rooms WHERE id / 4096 % ONE_OF = 0 OR id < 10;
        DELETE FROM users WHERE id NOT IN (SELECT id FROM kept);
        DELETE FROM rooms WHERE id NOT IN (SELECT id FROM rooms_kept);
        UPDATE rooms SET created_by = NULL WHERE created_by NOT IN (SELECT id FROM kept);
        DELETE FROM messages WHERE room_id NOT IN (SELECT id FROM rooms_kept) AND room_id <> 77 OR id / 4194304 % 10 <> 0 AND id > 10;
        UPDATE messages SET author_id = NULL WHERE author_id NOT IN (SELECT id FROM kept);
        DELETE FROM reactions WHERE (room_id, message_id) NOT IN (SELECT room_id, id FROM messages);
        UPDATE reactions SET user_id = (SELECT id FROM kept ORDER BY md5(id::text || reactions.user_id::text) LIMIT 1) WHERE emoji = '👍';
        DELETE FROM reactions WHERE user_id NOT IN (SELECT id FROM kept);
        DELETE FROM pins WHERE (room_id, message_id) NOT IN (SELECT room_id, id FROM messages);
        UPDATE pins SET pinned_by = NULL WHERE pinned_by NOT IN (SELECT id FROM kept);
        DELETE FROM members WHERE room_id NOT IN (SELECT id FROM rooms_kept);
        DELETE FROM members WHERE user_id NOT IN (SELECT id FROM kept);
        INSERT INTO members SELECT rooms.id, kept.id, 'member' FROM rooms, kept WHERE hashtext(rooms.id || kept.id::text) % 5 = 0 ON CONFLICT DO NOTHING;
        DELETE FROM invites WHERE room_id NOT IN (SELECT id FROM rooms_kept);
        UPDATE invites SET invited_by = NULL WHERE invited_by NOT IN (SELECT id FROM kept);
        DELETE FROM devices WHERE id % 10 <> 0 AND id % 90 NOT IN (1, 2);
        UPDATE devices SET user_id = (SELECT id FROM kept ORDER BY md5(id::text || devices.id) LIMIT 1) WHERE id % 3 > 0",
    changes: &[
        "UPDATE messages SET body = coalesce(body, '') || '!', edited_at = '2025-07-01' WHERE id / 41943040 % 7 = ROUND AND octet_length(body) < 1000",
        "UPDATE messages SET deleted_at = '2025-07-07' WHERE id / 41943040 % 13 = ROUND",
        "DELETE FROM messages WHERE id / 41943040 % 19 = ROUND",
        // A user who comes back finds that another one has the token, and the oracle would give it
        // back.
        "UPDATE users SET deleted_at = CASE WHEN deleted_at IS NULL THEN timestamptz '2025-07-07' END WHERE hashtext(handle::text) % 9 = ROUND
            AND (deleted_at IS NULL OR id NOT IN (SELECT user_id FROM devices WHERE id % 9 IN (1, 2) AND user_id IS NOT NULL))",
        "UPDATE members SET nickname = 'ROUND', last_read_id = ROUND WHERE hashtext(user_id::text) % 7 = ROUND",
        "DELETE FROM reactions WHERE hashtext(user_id::text) % 11 = ROUND",
        "INSERT INTO reactions SELECT room_id, id, (SELECT id FROM users ORDER BY id OFFSET ROUND LIMIT 1), '🎉', '2025-07-07' FROM messages WHERE id / 41943040 % 5 = ROUND",
        "INSERT INTO pins (room_id, message_id) SELECT room_id, id FROM messages WHERE id / 41943040 % 3 = ROUND ON CONFLICT DO NOTHING",
        "UPDATE rooms SET deleted_at = CASE WHEN deleted_at IS NULL THEN timestamptz '2025-07-07' END WHERE id / 4096 / 50 % 7 = ROUND AND slug LIKE 'Room-%'",
        "UPDATE invites SET uses = uses + 1 WHERE hashtext(token::text) % 5 = ROUND",
        // Two devices with one token: one of them gives it up.
        "DELETE FROM devices WHERE id % 90 = 1 AND id / 90 % 7 = ROUND",
        "UPDATE devices SET push_token = 'changed-' || id WHERE id % 90 = 2 AND id / 90 % 7 = ROUND + 3",
        "DELETE FROM users WHERE hashtext(handle::text) % 29 = ROUND",
    ],
    columns: &[
        text("users", "bio"),
        where_(
            "isfinite(created_at) AND id NOT IN (SELECT user_id FROM devices WHERE id % 9 IN (1, 2) AND user_id IS NOT NULL)",
            of("users", "deleted_at", DELETED),
        ),
        text("rooms", "topic"),
        where_("slug LIKE 'Room-%'", of("rooms", "deleted_at", DELETED)),
        leaf(text("members", "nickname")),
        where_("octet_length(body) < 1000", text("messages", "body")),
        where_("octet_length(body) < 1000", of("messages", "deleted_at", DELETED)),
        leaf(of("reactions", "created_at", &["\"2025-05-05T05:05:05+00:00\"", "\"2025-05-05T05:05:09+00:00\""])),
        leaf(of("pins", "pinned_at", &["\"2025-05-05T05:05:05+00:00\"", "\"2025-05-05T05:05:09+00:00\""])),
        leaf(of("invites", "uses", &["1", "2", "9"])),
        of("devices", "last_seen_on", &["null", "\"2025-05-05\""]),
    ],
    parents: &[
        ("messages", "SELECT to_jsonb(messages) FROM messages JOIN reactions ON message_id = id ORDER BY id LIMIT 1"),
        ("users", "SELECT to_jsonb(users) FROM users JOIN members ON user_id = users.id ORDER BY users.id LIMIT 1"),
        ("rooms", "SELECT to_jsonb(rooms) FROM rooms ORDER BY id DESC LIMIT 1"),
    ],
};
