//! The functions of a relay that users call.

use std::{
    any::Any,
    fmt,
    future::{Future, pending, poll_fn},
    marker::PhantomData,
    panic::AssertUnwindSafe,
    pin::{Pin, pin},
    task::{Context, Poll},
    time::Duration,
};

use futures_util::{
    FutureExt, StreamExt,
    future::{Either, select},
    stream::FuturesUnordered,
};
use table_model::HasEvents;
use table_store::{Guid, Result, backend::BoxFuture, unstable::observe::observed};
use tokio::sync::{
    mpsc::{UnboundedReceiver, unbounded_channel},
    oneshot,
};
use tracing::Instrument as _;

use super::{
    engine::{Delivered, RelayWork},
    event::Event,
    options::RelayOptions,
    partition::{BoxError, Consumer, DeliveryJob},
    source::EventSource,
};
use crate::{client::tables::Tables, write::index::Schema};

/// A relay of the events of an entity: see [`Tables::relay`].
#[must_use = "a relay does nothing until `deliver` or `deliver_once` is awaited"]
pub struct Relay<E> {
    tables: Tables,
    options: RelayOptions,
    entity: PhantomData<fn() -> E>,
}

/// The delivery of events: see [`Relay::deliver`].
#[must_use = "nothing is delivered until it is awaited"]
pub struct Deliver<F> {
    work: Pin<Box<F>>,
    stop: oneshot::Sender<()>,
}

impl<E: HasEvents> Relay<E> {
    /// Delivers events of so many partitions at the same time. The default is 16. Those of one partition are delivered one
    /// after another.
    pub fn side_by_side(mut self, partitions: usize) -> Self {
        self.options.side_by_side = partitions.max(1);
        self
    }

    /// Tries to deliver an event so often before it is put aside: see [`failed`](Self::failed). The default is 8, with pauses
    /// of 1, 2, 4 and up to 64 seconds, two minutes in all. Later events of the same entity wait meanwhile; those of others go on.
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.options.attempts = attempts.max(1);
        self
    }

    /// Sets the time between two reads of the marks, and between two reads of a partition that has just had events. The default
    /// is a second. A partition without new events is read at growing intervals. The embedded store needs no polling: a
    /// commit wakes the relay.
    pub fn poll(mut self, time: Duration) -> Self {
        self.options.poll = time.clamp(Duration::from_millis(1), Duration::from_hours(24));
        self
    }

    /// Delivers events until its future is dropped, or [until](Deliver::until) another future ends.
    ///
    /// The consumer is an async closure. Each event is delivered **at least once**, with the same [id](Event::id) each time.
    /// Those of one entity are delivered in the order of its writes, one after another. An error or a panic of the consumer
    /// is a failed attempt. An error of the store is reported to the crate `tracing`, and the relay goes on later.
    ///
    /// Any number of relays may run, in any number of processes: they share 16 buckets of partitions. If a process ends
    /// without [`until`](Deliver::until), another relay takes over its buckets after a [lease](Tables::with_lease), and counts an
    /// attempt for the first event of each partition: it may have ended the process.
    ///
    /// # Errors
    /// Returns an error of the store if the marks cannot be read for the first time.
    pub fn deliver<H, Er>(self, consumer: H) -> Deliver<impl Future<Output = Result<Delivered>> + use<E, H, Er>>
    where
        H: AsyncFn(Event<E>) -> Result<(), Er>,
        Er: Into<BoxError>,
    {
        self.begin(consumer, false)
    }

    /// Reads the marks once, and delivers the events that their partitions have. It tries failures again, and ends when each
    /// event has been delivered or put aside. What another relay holds is only counted. A relay that has ended without giving its
    /// buckets back is waited for, as long as a [lease](Tables::with_lease) and a tenth of it.
    ///
    /// # Errors
    /// Returns the errors of the store. What was delivered before may be delivered again.
    pub fn deliver_once<H, Er>(self, consumer: H) -> impl Future<Output = Result<Delivered>> + use<E, H, Er>
    where
        H: AsyncFn(Event<E>) -> Result<(), Er>,
        Er: Into<BoxError>,
    {
        self.begin(consumer, true)
    }

    fn begin<H, Er>(
        self,
        consumer: H,
        is_once: bool,
    ) -> Deliver<impl Future<Output = Result<Delivered>> + use<E, H, Er>>
    where
        H: AsyncFn(Event<E>) -> Result<(), Er>,
        Er: Into<BoxError>,
    {
        let (jobs, asked) = unbounded_channel();
        let (stop, stopped) = oneshot::channel();
        let Self { tables, options, .. } = self;
        let work: BoxFuture<'static, _> = Box::pin(async move {
            let consumer = Consumer::new(tables, Schema::of::<E>(), options, jobs, !is_once).await?;
            let stop = async {
                // If the sender is gone, nobody stops the relay.
                if stopped.await.is_err() {
                    pending::<()>().await;
                }
            };
            RelayWork::new(&consumer, is_once).run(&mut pin!(stop)).await
        });
        Deliver { work: Box::pin(serve(work, asked, consumer)), stop }
    }

    /// Returns the events that were put aside because their delivery has failed too often, in the order of their partitions
    /// and times. An event whose copy cannot be read has none.
    ///
    /// # Errors
    /// Returns the errors of the store.
    pub fn failed(&self) -> BoxFuture<'_, Result<Vec<Event<E>>>> {
        let running = self.tables.begin_operation(|| Schema::of::<E>().operation("failed"));
        Box::pin(observed(running, async {
            let source = EventSource::of(self.tables.clone(), Schema::of::<E>()).await?;
            let mut events = Vec::new();
            for failed in source.failed().await? {
                events.push(Event::of_failed(failed.stored(Schema::of::<E>())));
            }
            Ok(events)
        }))
    }

    /// Lets relays deliver an event again that was put aside, as if it had never failed. Later events of its entity may have
    /// been delivered before. Returns false if there is none with this id.
    ///
    /// # Errors
    /// Returns the errors of the store.
    pub fn retry(&self, id: Guid) -> BoxFuture<'_, Result<bool>> {
        let running = self.tables.begin_operation(|| Schema::of::<E>().operation("retry"));
        Box::pin(observed(running, async move {
            EventSource::of(self.tables.clone(), Schema::of::<E>()).await?.retry(id).await
        }))
    }

    /// Deletes an event that was put aside. Returns false if there is none with this id.
    ///
    /// # Errors
    /// Returns the errors of the store.
    pub fn discard(&self, id: Guid) -> BoxFuture<'_, Result<bool>> {
        let running = self.tables.begin_operation(|| Schema::of::<E>().operation("discard"));
        Box::pin(observed(running, async move {
            EventSource::of(self.tables.clone(), Schema::of::<E>()).await?.discard(id).await
        }))
    }
}

/// Runs a relay, and gives the consumer the events that it asks for.
///
/// Only this function is compiled for each consumer.
async fn serve<E, H, Er>(
    mut work: BoxFuture<'static, Result<Delivered>>,
    mut asked: UnboundedReceiver<DeliveryJob>,
    consumer: H,
) -> Result<Delivered>
where
    E: HasEvents,
    H: AsyncFn(Event<E>) -> Result<(), Er>,
    Er: Into<BoxError>,
{
    let mut handling = FuturesUnordered::new();
    poll_fn(|context| {
        loop {
            let mut has_progress = false;
            while let Poll::Ready(Some(job)) = asked.poll_recv(context) {
                handling.push(Box::pin(handle(&consumer, job)));
                has_progress = true;
            }
            while let Poll::Ready(Some(())) = handling.poll_next_unpin(context) {
                has_progress = true;
            }
            if let Poll::Ready(done) = work.poll_unpin(context) {
                return Poll::Ready(done);
            }
            if !has_progress {
                return Poll::Pending;
            }
        }
    })
    .await
}

/// Lets the consumer handle an event.
async fn handle<E, H, Er>(consumer: &H, DeliveryJob { event, answer, span }: DeliveryJob)
where
    E: HasEvents,
    H: AsyncFn(Event<E>) -> Result<(), Er>,
    Er: Into<BoxError>,
{
    let handled = match Event::read(&event) {
        Ok(read) => {
            let handled = AssertUnwindSafe(async { consumer(read).await.map_err(Into::into) }).catch_unwind();
            handled.instrument(span.clone()).await.unwrap_or_else(|panic| Err(message(&*panic).into()))
        }
        Err(error) => Err(error.into()),
    };
    if handled.is_err() {
        span.record("otel.status_code", "ERROR");
    }
    // The relay may have ended.
    let _ = answer.send((event, handled));
}

/// Returns what a panic says.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("the consumer panicked: {}", text.unwrap_or("its message is no text"))
}

impl<F: Future<Output = Result<Delivered>>> Future for Deliver<F> {
    type Output = Result<Delivered>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<Delivered>> {
        self.work.as_mut().poll(context)
    }
}

impl<F: Future<Output = Result<Delivered>>> Deliver<F> {
    /// Delivers events until this future ends. The relay then begins no further delivery, waits for the consumer's
    /// calls that have begun, deletes what was delivered, gives its buckets back, and returns what it has done.
    ///
    /// # Errors
    /// Returns the errors of [`Relay::deliver`], and those of the store while it ends.
    pub async fn until(self, end: impl Future) -> Result<Delivered> {
        let Self { work, stop } = self;
        match select(work, pin!(end)).await {
            Either::Left((done, _)) => done,
            Either::Right((_, work)) => {
                let _ = stop.send(());
                work.await
            }
        }
    }
}

impl<E: HasEvents> fmt::Debug for Relay<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Relay").field("entity", &E::INFO.entity).field("options", &self.options).finish_non_exhaustive()
    }
}

impl<F> fmt::Debug for Deliver<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deliver").finish_non_exhaustive()
    }
}

impl Tables {
    /// Returns a relay, which delivers the [events](crate::guide::events) of an entity to a consumer.
    ///
    /// ```
    /// use table_runtime::{TableEntity, Tables, events::EventChange};
    ///
    /// #[derive(TableEntity)]
    /// #[table(events(copy))]
    /// struct Order {
    ///     #[partition_key]
    ///     shop: String,
    ///     #[row_key]
    ///     number: u32,
    ///     total: u32,
    /// }
    ///
    /// # futures::executor::block_on(async {
    /// let tables = Tables::in_memory()?;
    /// tables.create::<Order>().await?;
    /// tables.insert(&Order { shop: "books".into(), number: 1, total: 30 }).await?;
    ///
    /// let relay = tables.relay::<Order>();
    /// let done = relay.deliver_once(async |event| {
    ///     assert_eq!(event.change(), EventChange::Inserted);
    ///     let order = event.entity().ok_or("no copy")?;
    ///     println!("{}: {} at {}", event.id(), order.total, order.shop);
    ///     Ok::<_, &str>(())
    /// });
    /// assert_eq!(done.await?.delivered, 1);
    /// # Ok::<(), table_runtime::Error>(())
    /// # }).unwrap();
    /// ```
    pub fn relay<E: HasEvents>(&self) -> Relay<E> {
        Relay { tables: self.of_primary(), options: RelayOptions::default(), entity: PhantomData }
    }
}
