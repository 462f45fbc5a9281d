//! A scripted HTTP server for behaviour that Azurite never shows: throttling, lost answers, empty pages, errors of
//! other services.

use std::{
    collections::VecDeque,
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
    time::sleep,
};

/// Reaction of the server to one request.
#[derive(Clone, Debug)]
pub enum Step {
    /// Reads the request and answers it.
    Answer(Answer),
    /// Reads the request and closes the connection without an answer.
    ReadAndClose,
    /// Reads the request, sends these bytes, and closes the connection.
    ReadAndSend(Vec<u8>),
    /// Closes the connection without reading.
    Close,
}

/// Answer of the server.
#[derive(Clone, Debug)]
pub struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    delay: Duration,
    /// Number of requests that arrive before this answer is sent.
    arrived: usize,
}

impl Answer {
    /// Returns an answer with this status and without a body.
    pub fn new(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Vec::new(), delay: Duration::ZERO, arrived: 0 }
    }

    /// Sets another status.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Sets a JSON body.
    #[must_use]
    pub fn json(self, body: impl Into<Vec<u8>>) -> Self {
        self.header("Content-Type", "application/json").body(body)
    }

    /// Waits before answering.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Answers only when the server has so many requests, this one included.
    #[must_use]
    pub fn once_arrived(mut self, requests: usize) -> Self {
        self.arrived = requests;
        self
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut lines = vec![format!("HTTP/1.1 {} Scripted", self.status)];
        lines.extend(self.headers.iter().map(|(name, value)| format!("{name}: {value}")));
        if self.status != 204 {
            lines.push(format!("Content-Length: {}", self.body.len()));
        }
        let mut bytes = (lines.join("\r\n") + "\r\n\r\n").into_bytes();
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

impl Step {
    /// Checks whether the server waits before it answers.
    pub fn is_late(&self) -> bool {
        matches!(self, Self::Answer(answer) if answer.delay > Duration::ZERO)
    }
}

impl From<Answer> for Step {
    fn from(answer: Answer) -> Self {
        Self::Answer(answer)
    }
}

/// Received request.
#[derive(Clone, Debug)]
pub struct Request {
    /// `GET`, `POST`, …
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Names and values of the headers.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

impl Request {
    /// Returns the value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

/// Server that executes one step of its script for each request. It stops when it is dropped.
#[derive(Debug)]
pub struct Scripted {
    address: SocketAddr,
    script: Arc<Mutex<Script>>,
    task: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Script {
    steps: VecDeque<Step>,
    requests: Vec<Request>,
    connections: usize,
}

impl Scripted {
    /// Starts a server on a free port.
    pub async fn start() -> io::Result<Self> {
        Self::start_on(SocketAddr::from(([127, 0, 0, 1], 0))).await
    }

    /// Starts a server on this address.
    pub async fn start_on(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let script = Arc::new(Mutex::new(Script::default()));
        let task = tokio::spawn(accept(listener, Arc::clone(&script)));
        Ok(Self { address, script, task })
    }

    /// Adds a step to the script. A request without a step is answered with 418.
    pub fn then(&self, step: impl Into<Step>) -> &Self {
        lock(&self.script).steps.push_back(step.into());
        self
    }

    /// Adds steps to the script.
    pub fn then_all(&self, steps: impl IntoIterator<Item = impl Into<Step>>) -> &Self {
        lock(&self.script).steps.extend(steps.into_iter().map(Into::into));
        self
    }

    /// Returns the requests that were read.
    pub fn requests(&self) -> Vec<Request> {
        lock(&self.script).requests.clone()
    }

    /// Returns the number of accepted connections.
    pub fn connections(&self) -> usize {
        lock(&self.script).connections
    }

    /// Returns the number of remaining steps.
    pub fn left(&self) -> usize {
        lock(&self.script).steps.len()
    }

    /// Drops the remaining steps.
    pub fn clear(&self) {
        lock(&self.script).steps.clear();
    }

    /// Returns the address on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the table endpoint of an account on this server.
    pub fn endpoint(&self) -> String {
        format!("http://{}/acc", self.address)
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn lock(script: &Mutex<Script>) -> MutexGuard<'_, Script> {
    script.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(listener: TcpListener, script: Arc<Mutex<Script>>) {
    // The connections are aborted together with this task.
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        lock(&script).connections += 1;
        let script = Arc::clone(&script);
        connections.spawn(async move {
            // A client that disconnects ends only its own connection.
            let _ = serve(stream, &script).await;
        });
    }
}

async fn serve(stream: TcpStream, script: &Mutex<Script>) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    loop {
        // A step is taken only after a request has arrived, so an idle connection takes none.
        if stream.fill_buf().await?.is_empty() {
            return Ok(());
        }
        let step = lock(script).steps.pop_front();
        if let Some(Step::Close) = step {
            return Ok(());
        }
        let request = read_request(&mut stream).await?;
        lock(script).requests.push(request);
        match step {
            Some(Step::Answer(answer)) => {
                sleep(answer.delay).await;
                while lock(script).requests.len() < answer.arrived {
                    sleep(Duration::from_millis(1)).await;
                }
                stream.write_all(&answer.to_bytes()).await?;
            }
            Some(Step::ReadAndSend(bytes)) => return stream.write_all(&bytes).await,
            Some(Step::ReadAndClose | Step::Close) => return Ok(()),
            None => stream.write_all(&Answer::new(418).body("nothing is scripted").to_bytes()).await?,
        }
    }
}

async fn read_request(stream: &mut BufReader<TcpStream>) -> io::Result<Request> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let mut lines = lines.into_iter();
    let first = lines.next().unwrap_or_default();
    let mut words = first.split(' ').map(str::to_owned);
    let headers = lines.filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        Some((name.to_owned(), value.trim().to_owned()))
    });
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut request = Request { method, target, headers: headers.collect(), body: String::new() };
    let length = request.header("Content-Length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    request.body = String::from_utf8_lossy(&body).into_owned();
    Ok(request)
}
