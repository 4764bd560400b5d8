//! Groups: the items that one statistic covers, and where it is stored.

use std::fmt;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::window::Window;

type Extract<T, V> = Box<dyn Fn(&T) -> Option<V> + Send + Sync>;

/// A way to divide the items, with a statistic for each part: all items, the items of a day, the
/// items of a product and an hour.
pub struct Group<T> {
    pub(crate) name: String,
    pub(crate) dimensions: Vec<(String, Dimension<T>)>,
    pub(crate) zone: TimeZone,
    pub(crate) key: Option<(String, String)>,
    pub(crate) attributes: Vec<(String, String)>,
    /// `None`: all of them.
    pub(crate) measures: Option<Vec<String>>,
}

/// The time of an item on the clocks of a zone.
type Clock<T> = Box<dyn Fn(&T, &TimeZone) -> Option<DateTime> + Send + Sync>;

pub(crate) enum Dimension<T> {
    Window(Window, Clock<T>),
    Attribute(Extract<T, String>),
}

impl<T> Group<T> {
    /// A group with one statistic for all items. [`Group::window`] and [`Group::attribute`] divide
    /// it. The name appears in errors and in the key of first-seen records.
    pub fn new(name: impl Into<String>) -> Self {
        let (dimensions, attributes) = (Vec::new(), Vec::new());
        Self { name: name.into(), dimensions, zone: TimeZone::UTC, key: None, attributes, measures: None }
    }

    /// Divides by windows of time. An item without a time belongs to no statistic of the group. A
    /// group has at most one window.
    pub fn window<V: Into<Option<Timestamp>>>(
        self,
        name: impl Into<String>,
        window: Window,
        at: impl Fn(&T) -> V + Send + Sync + 'static,
    ) -> Self {
        self.clock(name, window, Box::new(move |item, zone| at(item).into().map(|at| zone.to_datetime(at))))
    }

    /// Divides by windows of a time without a zone, such as a date that the item has.
    pub fn civil_window<V: Into<Option<DateTime>>>(
        self,
        name: impl Into<String>,
        window: Window,
        at: impl Fn(&T) -> V + Send + Sync + 'static,
    ) -> Self {
        self.clock(name, window, Box::new(move |item, _| at(item).into()))
    }

    fn clock(mut self, name: impl Into<String>, window: Window, clock: Clock<T>) -> Self {
        self.dimensions.push((name.into(), Dimension::Window(window, clock)));
        self
    }

    /// Divides by an attribute. An item without a value belongs to no statistic of the group.
    pub fn attribute<V: Into<Option<String>>>(
        mut self,
        name: impl Into<String>,
        value: impl Fn(&T) -> V + Send + Sync + 'static,
    ) -> Self {
        self.dimensions.push((name.into(), Dimension::Attribute(Box::new(move |item| value(item).into()))));
        self
    }

    /// The time zone of the windows. UTC without it. A [civil window](Self::civil_window) has none.
    pub fn zone(self, zone: TimeZone) -> Self {
        Self { zone, ..self }
    }

    /// The partition key and the sort key of a statistic, with the group's dimensions in braces:
    /// `("STAT#{product}", "{day}")`. Each dimension must be in one of them.
    pub fn key(self, partition: impl Into<String>, sort: impl Into<String>) -> Self {
        Self { key: Some((partition.into(), sort.into())), ..self }
    }

    /// Another attribute of each statistic, for example the key of an index.
    pub fn set(mut self, attribute: impl Into<String>, template: impl Into<String>) -> Self {
        self.attributes.push((attribute.into(), template.into()));
        self
    }

    /// The measures that the group keeps. All of them without it.
    pub fn measures<M: Into<String>>(self, names: impl IntoIterator<Item = M>) -> Self {
        Self { measures: Some(names.into_iter().map(Into::into).collect()), ..self }
    }

    /// The values of the dimensions for an item; `None` if the item does not belong to the group.
    pub(crate) fn values(&self, item: &T) -> Option<Vec<String>> {
        let value = |dimension: &Dimension<T>| match dimension {
            Dimension::Window(window, clock) => Some(window.label(clock(item, &self.zone)?)),
            Dimension::Attribute(value) => value(item),
        };
        self.dimensions.iter().map(|(_, dimension)| value(dimension)).collect()
    }

    /// The window among the dimensions, with its index.
    pub(crate) fn window_dimension(&self) -> Option<(usize, Window)> {
        self.dimensions.iter().enumerate().find_map(|(index, (_, dimension))| match dimension {
            Dimension::Window(window, _) => Some((index, *window)),
            Dimension::Attribute(_) => None,
        })
    }
}

impl<T> fmt::Debug for Group<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dimensions: Vec<_> = self.dimensions.iter().map(|(name, _)| name).collect();
        f.debug_struct("Group")
            .field("name", &self.name)
            .field("dimensions", &dimensions)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}
