//! The bodies of a new game and of a new seat. Members are checked one by one, so that each has its
//! own problem.

use std::sync::Arc;

use domain::game::{
    CUSTOM_WORDS_MAX, Language, OutOfBounds, PlayerCount, PlayerName, RoundCount, Scoring, Settings, TimeLimit, Word,
    WordSource,
};
use game_room::protocol::{INVALID_SETTINGS, WORD_SOURCES};
use game_store::Role;
use lambda_kit::fields::required_text;
use lambda_kit::http::Request;
use lambda_kit::problem::{INVALID_BODY, Problem};
use serde::Deserialize;
use serde_json::Value;

use crate::problems::{INVALID_NAME, INVALID_ROLE, INVALID_WORDS};

/// The largest body: 100 words of 50 characters take 30 KB, escaped.
pub const BODY_BYTES_MAX: usize = 64 * 1024;

/// The body of `POST /games`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewGameBody {
    name: Option<Value>,
    settings: Option<Value>,
    public: Option<Value>,
    words: Option<Value>,
}

/// The body of `POST /games/{gameId}/players`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewSeatBody {
    name: Option<Value>,
    role: Option<Value>,
}

/// A new game with valid members.
#[derive(Debug, PartialEq)]
pub(crate) struct CheckedGame {
    pub(crate) name: PlayerName,
    pub(crate) settings: Settings,
    pub(crate) public: bool,
    pub(crate) words: Arc<[Word]>,
}

impl NewGameBody {
    /// Reads the request's body.
    pub(crate) fn of(request: &Request) -> Result<Self, Problem> {
        request.json(BODY_BYTES_MAX)
    }

    pub(crate) fn check(self) -> Result<CheckedGame, Problem> {
        let name = name(self.name)?;
        let has_words = self.words.as_ref().and_then(Value::as_array).is_some_and(|list| !list.is_empty());
        let settings = settings(self.settings, has_words)?;
        let words = words(self.words, settings.language)?;
        let public = match self.public {
            None => false,
            Some(Value::Bool(public)) => public,
            Some(_) => return Err(INVALID_BODY.detail("`public` must be true or false")),
        };
        Ok(CheckedGame { name, settings, public, words })
    }
}

impl NewSeatBody {
    /// Reads the request's body.
    pub(crate) fn of(request: &Request) -> Result<Self, Problem> {
        request.json(BODY_BYTES_MAX)
    }

    pub(crate) fn check(self) -> Result<(PlayerName, Role), Problem> {
        let role = match self.role {
            None => Role::Player,
            Some(role) => role
                .as_str()
                .and_then(Role::parse)
                .ok_or_else(|| INVALID_ROLE.detail("must be `player` or `spectator`"))?,
        };
        Ok((name(self.name)?, role))
    }
}

fn name(value: Option<Value>) -> Result<PlayerName, Problem> {
    required_text("name", value, &INVALID_NAME, PlayerName::new)
}

fn words(value: Option<Value>, language: Language) -> Result<Arc<[Word]>, Problem> {
    let Some(value) = value else { return Ok(Arc::default()) };
    let list = value.as_array().ok_or_else(|| INVALID_WORDS.detail("must be a list of strings"))?;
    if list.len() > CUSTOM_WORDS_MAX {
        return Err(INVALID_WORDS.detail(format!("a game takes at most {CUSTOM_WORDS_MAX} words")));
    }
    let word = |(place, value): (usize, &Value)| {
        let text = value.as_str().ok_or_else(|| INVALID_WORDS.detail(format!("word {place} must be a string")))?;
        Word::new(language, text).map_err(|why| INVALID_WORDS.detail(format!("word {place} {why}")))
    };
    (1..).zip(list).map(word).collect()
}

fn settings(value: Option<Value>, has_words: bool) -> Result<Settings, Problem> {
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct Wanted {
        time_limit: Option<Value>,
        round_count: Option<Value>,
        player_count: Option<Value>,
        hints: Option<Value>,
        words: Option<Value>,
        language: Option<Value>,
        scoring: Option<Value>,
    }
    let wanted: Wanted = match value {
        None => Wanted::default(),
        Some(value @ Value::Object(_)) => serde_json::from_value(value).map_err(|why| INVALID_SETTINGS.detail(why))?,
        Some(_) => return Err(INVALID_SETTINGS.detail("must be an object")),
    };
    let default = Settings::default();
    let words = match wanted.words {
        // A client that sends its own words wants them to be drawn.
        None if has_words => WordSource::Both,
        None => default.words,
        Some(value) => {
            let source = WORD_SOURCES.iter().find(|(_, name)| Some(*name) == value.as_str());
            source.ok_or_else(|| INVALID_SETTINGS.detail("`words` must be `built-in`, `custom` or `both`"))?.0
        }
    };
    let hints = match wanted.hints {
        None => default.hints,
        Some(Value::Bool(hints)) => hints,
        Some(_) => return Err(INVALID_SETTINGS.detail("`hints` must be true or false")),
    };
    let language = match wanted.language {
        None => default.language,
        Some(code) => {
            let language = code.as_str().and_then(Language::with_code);
            language
                .ok_or_else(|| INVALID_SETTINGS.detail(format!("`language` must be one of {}", Language::codes())))?
        }
    };
    let scoring = match wanted.scoring {
        None => default.scoring,
        Some(name) => name
            .as_str()
            .and_then(Scoring::with_name)
            .ok_or_else(|| INVALID_SETTINGS.detail("`scoring` must be `speed`, `equal` or `none`"))?,
    };
    Ok(Settings {
        time_limit: number("timeLimit", wanted.time_limit, default.time_limit, TimeLimit::new)?,
        round_count: number("roundCount", wanted.round_count, default.round_count, RoundCount::new)?,
        player_count: number("playerCount", wanted.player_count, default.player_count, PlayerCount::new)?,
        hints,
        words,
        language,
        scoring,
    })
}

fn number<T>(
    name: &str,
    value: Option<Value>,
    default: T,
    check: impl FnOnce(u16) -> Result<T, OutOfBounds>,
) -> Result<T, Problem> {
    let Some(value) = value else { return Ok(default) };
    // A value that is not such a number becomes 0, which is out of all bounds.
    let number = value.as_u64().and_then(|number| u16::try_from(number).ok()).unwrap_or_default();
    check(number).map_err(|why| INVALID_SETTINGS.detail(format!("`{name}` {why}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn game(body: Value) -> Result<CheckedGame, &'static str> {
        let body: NewGameBody = serde_json::from_value(body).map_err(|_| "invalid-body")?;
        body.check().map_err(|problem| problem.name())
    }

    fn seat(body: Value) -> Result<(String, Role), &'static str> {
        let body: NewSeatBody = serde_json::from_value(body).map_err(|_| "invalid-body")?;
        body.check().map(|(name, role)| (name.to_string(), role)).map_err(|problem| problem.name())
    }

    #[test]
    fn a_game_needs_only_a_name() {
        let wanted = game(json!({"name": "あんず"})).expect("a game");
        assert_eq!((wanted.settings, wanted.public, wanted.words.len()), (Settings::default(), false, 0));
    }

    #[test]
    fn invalid_settings_are_refused() {
        let settings =
            |settings: Value| game(json!({"name": "あんず", "settings": settings})).map(|game| game.settings);
        let chosen = settings(
            json!({"timeLimit": 30, "roundCount": 10, "playerCount": 2, "hints": false, "words": "both", "scoring": "equal"}),
        );
        let chosen = chosen.expect("settings");
        assert_eq!((chosen.time_limit.get(), chosen.round_count.get(), chosen.player_count.get()), (30, 10, 2));
        assert_eq!(chosen.scoring, Scoring::Equal);
        for wrong in [
            json!({"timeLimit": 29}),
            json!({"timeLimit": 301}),
            json!({"timeLimit": "80"}),
            json!({"timeLimit": 80.5}),
            json!({"roundCount": 0}),
            json!({"playerCount": 65_538}),
            json!({"playerCount": -2}),
            json!({"hints": "yes"}),
            json!({"words": "mine"}),
            json!({"language": "it"}),
            json!({"language": 1}),
            json!({"scoring": "fair"}),
            json!({"scoring": null, "words": 1}),
            json!({"words": null, "timelimit": 80}),
            json!([80, 3, 8, true, "both"]),
            json!("fast"),
        ] {
            assert_eq!(settings(wrong.clone()), Err("invalid-settings"), "{wrong}");
        }
    }

    #[test]
    fn words_must_be_in_the_games_language() {
        let words = |words: Value| game(json!({"name": "あんず", "words": words}));
        let wanted = words(json!(["りんご", "ねこ", "りんご"])).expect("a game");
        assert_eq!((wanted.words.len(), wanted.settings.words), (3, WordSource::Both));
        let english = |words| game(json!({"name": "Ann", "settings": {"language": "en"}, "words": words}));
        assert_eq!(english(json!(["hot dog", "piñata"])).map(|game| game.words.len()), Ok(2));
        assert_eq!(english(json!(["りんご"])).map(|game| game.words.len()), Err("invalid-words"));
        for wrong in [json!("りんご"), json!([7]), json!(["ringo"]), json!([""]), json!(vec!["ねこ"; 101])] {
            assert_eq!(words(wrong.clone()), Err("invalid-words"), "{wrong}");
        }
    }

    #[test]
    fn the_default_role_is_player() {
        assert_eq!(seat(json!({"name": "あんず"})), Ok(("あんず".into(), Role::Player)));
        assert_eq!(seat(json!({"name": "あんず", "role": "spectator"})), Ok(("あんず".into(), Role::Spectator)));
        for role in [json!("host"), json!(1), json!("")] {
            assert_eq!(seat(json!({"name": "あんず", "role": role})), Err("invalid-role"));
        }
        for name in
            [json!("a\u{200b}b"), json!("a\u{0}"), json!(" "), json!(7), json!("あんずのきのしたのこだ"), json!(null)]
        {
            assert_eq!(seat(json!({"name": name})), Err("invalid-name"), "{name}");
        }
        assert_eq!(seat(json!({"nama": "あんず"})), Err("invalid-body"));
    }
}
