//! Users: names, time zones and pictures.

use aws_sdk_dynamodb::types::ReturnValue;
use domain::UserId;
use domain::okusuri::Regimen;
use jiff::Timestamp;
use serde_bytes::ByteBuf;

use super::keys::{IMAGE, Key, s, sha256_hex};
use super::rows::{User, UserImage, read};
use super::sign_in_grants::signed_in_still;
use super::sign_ins::{ALIVE, profile};
use super::transaction::Transaction;
use store_base::unless_condition_failed;
use store_base::{StoreError, Table};

/// What a profile's `Image` begins with when the picture lies in the table.
pub const OWN_IMAGE: &str = "self:";

/// What of a profile is to change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProfileChange {
    /// What the user is to be called; an empty text takes the name away.
    pub name: Option<String>,
    /// An IANA name that exists.
    pub time_zone: Option<String>,
    /// The regimen. The user is not asked for it any more.
    pub regimen: Option<Regimen>,
}

/// The users of a table. Its requests are `GetItem`, `UpdateItem` and `TransactWriteItems`.
#[derive(Debug, Clone)]
pub struct Users {
    table: Table,
}

impl Users {
    /// The users in `table`.
    pub fn new(table: &Table) -> Self {
        Self { table: table.clone() }
    }

    /// Changes a profile; `None` when there is no such user any more, or the session has ended
    /// meanwhile.
    pub async fn change(
        &self,
        user: &User,
        change: &ProfileChange,
        now: Timestamp,
    ) -> Result<Option<User>, StoreError> {
        let mut request = self.table.update_item(profile(&user.user_id).item());
        let (mut sets, mut removes) = (vec!["UpdatedAt = :now"], Vec::new());
        request = request.expression_attribute_values(":now", s(now.to_string()));
        if let Some(name) = &change.name {
            request = request.expression_attribute_names("#Name", "Name");
            if name.is_empty() {
                removes.push("#Name");
            } else {
                sets.push("#Name = :name");
                request = request.expression_attribute_values(":name", s(name));
            }
        }
        if let Some(time_zone) = &change.time_zone {
            sets.push("#TimeZone = :zone");
            // A word that DynamoDB reserves, as `Name` is.
            request = request.expression_attribute_names("#TimeZone", "TimeZone");
            request = request.expression_attribute_values(":zone", s(time_zone));
        }
        if let Some(regimen) = change.regimen {
            sets.push("Regimen = :regimen");
            removes.push("AsksRegimen");
            request = request.expression_attribute_values(":regimen", s(regimen.to_string()));
        }
        let remove = if removes.is_empty() { String::new() } else { format!(" REMOVE {}", removes.join(", ")) };
        request = request.update_expression(format!("SET {}{remove}", sets.join(", ")));
        let (condition, values) = signed_in_still(user);
        for (name, value) in values {
            request = request.expression_attribute_values(format!(":{name}"), value);
        }
        let request = request.condition_expression(condition).return_values(ReturnValue::AllNew);
        let answer = unless_condition_failed(request.send().await)?;
        answer.and_then(|answer| answer.attributes).map(read).transpose()
    }

    /// Stores a picture. Returns the value of the profile's `Image`; `None` if the user no longer
    /// exists, or the session has ended meanwhile.
    pub async fn set_image(
        &self,
        user: &User,
        content_type: &str,
        bytes: &[u8],
        now: Timestamp,
    ) -> Result<Option<String>, StoreError> {
        let image = format!("{OWN_IMAGE}{}", &sha256_hex(bytes)[..16]);
        let row = UserImage {
            user_id: user.user_id.clone(),
            content_type: content_type.to_owned(),
            bytes: ByteBuf::from(bytes),
            created_at: now,
            updated_at: now,
        };
        let (condition, mut values) = signed_in_still(user);
        values.extend([("image", s(&image)), ("now", s(now.to_string()))]);
        let transaction = Transaction::new(&self.table)
            .update(&profile(&user.user_id), "SET Image = :image, UpdatedAt = :now", &condition, values)?
            .set(&row)?;
        Ok(transaction.write().await?.is_none().then_some(image))
    }

    /// The picture that [`Users::set_image`] keeps.
    pub async fn image(&self, user_id: &UserId) -> Result<Option<UserImage>, StoreError> {
        let request = self.table.get_item(image(user_id.as_str()).item());
        request.consistent_read(true).send().await?.item.map(read).transpose()
    }

    /// Takes the picture away, wherever it lies.
    pub async fn remove_image(&self, user_id: &UserId, now: Timestamp) -> Result<(), StoreError> {
        let transaction = Transaction::new(&self.table)
            .update(
                &profile(user_id.as_str()),
                "SET UpdatedAt = :now REMOVE Image",
                // Stops the update from recreating a user who was deleted meanwhile.
                ALIVE,
                vec![("now", s(now.to_string()))],
            )?
            .forget(&image(user_id.as_str()))?;
        // With the user, the picture has gone.
        transaction.write().await.map(drop)
    }
}

pub(super) fn image(user_id: &str) -> Key {
    Key::new(format!("USER#{user_id}"), IMAGE)
}
