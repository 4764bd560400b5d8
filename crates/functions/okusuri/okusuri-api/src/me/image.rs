//! `/okusuri/api/me/image`: the user's picture.

use lambda_kit::http::{Reply, Request};
use lambda_kit::problem::Problem;
use serde_json::json;

use crate::Okusuri;
use crate::problems::{IMAGE_NOT_FOUND, INVALID_IMAGE, NOT_SIGNED_IN, store_problem};

/// The largest picture. A larger one could exceed DynamoDB's limit of 400 KB for an item.
pub(super) const IMAGE_BYTES_MAX: usize = 256 * 1024;

/// The type of a picture, from its first bytes. The type that the client declares is not trusted.
fn content_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// Stores a picture, and replaces an earlier one.
pub(crate) async fn put(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    let signed_in = okusuri.user(request).await?;
    let bytes = request.bytes(IMAGE_BYTES_MAX)?;
    let kind = content_type(&bytes).ok_or_else(|| INVALID_IMAGE.detail("expected a PNG, JPEG or WebP picture"))?;
    let image = okusuri.users.set_image(&signed_in.user, kind, &bytes, (okusuri.now)()).await.map_err(store_problem)?;
    let user = okusuri_store::rows::User { image: Some(image.ok_or(NOT_SIGNED_IN)?), ..signed_in.user };
    Ok(Reply::json(200, &json!({ "image": super::user_json(&user)["image"] })))
}

/// The picture itself.
pub(crate) async fn show(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    let signed_in = okusuri.user(request).await?;
    let image = okusuri.users.image(&signed_in.id).await.map_err(store_problem)?.ok_or(IMAGE_NOT_FOUND)?;
    let kind = content_type(&image.bytes).ok_or(IMAGE_NOT_FOUND)?;
    Ok(Reply::bytes(200, kind, &image.bytes).header("x-content-type-options", "nosniff"))
}

/// Removes the picture, also one that came from a provider.
pub(crate) async fn remove(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    let signed_in = okusuri.user(request).await?;
    okusuri.users.remove_image(&signed_in.id, (okusuri.now)()).await.map_err(store_problem)?;
    Ok(Reply::empty())
}
