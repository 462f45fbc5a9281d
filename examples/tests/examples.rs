//! Runs every example, and `git_history` on repositories created for it.
//!
//! `cargo test` builds the examples too. `cargo test --test examples` runs the examples as they were built last.
#![allow(clippy::unwrap_used, reason = "a panic shows where the test failed")]

use std::{
    env, fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use tempfile::TempDir;

/// Returns the command of an example, which `cargo test` has built: this test is `target/debug/deps/examples-…`, the
/// example `target/debug/examples/…`.
fn example(name: &str) -> Command {
    let test = env::current_exe().unwrap();
    let file = test.ancestors().nth(2).unwrap().join("examples").join(name).with_extension(env::consts::EXE_EXTENSION);
    assert!(file.exists(), "{} is missing; `cargo test` builds it", file.display());
    let mut command = Command::new(file);
    command.env_remove("RUST_BACKTRACE").env_remove("RUST_LIB_BACKTRACE");
    command
}

/// Returns the output of a program, which has to succeed.
#[track_caller]
fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the error output of a program, which has to fail without a panic.
#[track_caller]
fn errors(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8(output.stderr).unwrap()
}

#[track_caller]
fn assert_lines(output: &str, lines: &[&str]) {
    for line in lines {
        assert!(output.lines().any(|found| found.trim() == *line), "no line `{line}` in:\n{output}");
    }
}

#[test]
fn customers() {
    assert_lines(
        &output(&mut example("customers")),
        &[
            "a photo of 100000 bytes",
            "pays by card: Ada",
            "in Bonn: Markt 2, Bonn-Beuel",
            "Ada in Bonn-Beuel, card None",
            "Grace in Berlin, card None",
        ],
    );
}

#[test]
fn tags() {
    assert_lines(
        &output(&mut example("tags")),
        &[
            "range of Articles, 1 request at least, a row for each element of `tags` that an entity has in the range: \
             PartitionKey eq 'acme' and RowKey ge 'tag-ru' and RowKey lt 'tag-rv'",
            "2: Leases",
            "1: Keys",
            "0 articles about Ruby",
            "2 articles with tags, 4 rows",
            "signed in: Ada",
            "refused: ada@example.com belongs to another user",
            "eve@example.com is free: true",
        ],
    );
}

#[test]
fn starts_with() {
    assert_lines(
        &output(&mut example("starts_with")),
        &[
            "range of Articles, 1 request at least: \
             PartitionKey eq 'M' and RowKey ge 'METABOLIS' and RowKey lt 'METABOLIT'",
            "page 3: METABOLON",
            "refused: the prefix \"\" is too short to determine the partition, which is made of the first character",
        ],
    );
}

#[test]
fn newest_first() {
    assert_lines(
        &output(&mut example("newest_first")),
        &["range of Posts, first 2, 1 request at least: PartitionKey eq 'Marcus'", "Friday has 2 likes"],
    );
}

#[test]
fn numbers_as_keys() {
    assert_lines(
        &output(&mut example("numbers_as_keys")),
        &[
            "employee 123 is the row 00000123",
            "refused: Employees, layout `key`, key part `number`: 123456789 does not fit 8 digits",
            "-1 m: 27.9 °C",
        ],
    );
}

#[test]
fn filters() {
    assert_lines(
        &output(&mut example("filters")),
        &[
            "cheap: range of Products, 1 request at least: \
             PartitionKey eq 'Tools' and RowKey ge 'hammer-' and RowKey lt 'hammer.'",
            "table scan of Products, 1 request at least, also for rows that the filter drops: Cents gt 4000L",
        ],
    );
}

#[test]
fn sensor_log() {
    assert_lines(
        &output(&mut example("sensor_log")),
        &[
            "1920 readings in Readings201004, Readings201005, Readings201006, Readings201007, Readings201008",
            "one: point of Readings201006, 1 request: PartitionKey eq '7' and RowKey eq '2521267343999999999_kitchen'",
            "tail: fan-out over 8 of ReadingsYYYYMM, first 5, 1 request at least: PartitionKey eq '{0..7}'",
            "2010-08-01 18:00 kitchen 13",
            "2010-06-01 00:00 kitchen 4",
            "2010-05-31 18:00 attic 9",
            "warmest: Some((\"2010-06-01\", 13.0))",
            "dropped Readings201004, Readings201005",
            "1240 readings are left",
            "oldest table: Readings201005",
        ],
    );
}

#[test]
fn accounts() {
    assert_lines(
        &output(&mut example("accounts")),
        &[
            "point of Accounts, 2 requests: PartitionKey eq 'marcus' and RowKey eq 'name-savings'",
            "refused: the unique index `name` of Accounts has `savings` already",
            "lookups of Accounts, 1 request at least, and one for each entity: \
             PartitionKey eq 'marcus' and RowKey ge 'name-sav' and RowKey lt 'name-saw'",
            "Groceries, Reserve, Saved for a bicycle, Savings",
        ],
    );
}

#[test]
fn logins() {
    let output = output(&mut example("logins"));
    assert_lines(
        &output,
        &[
            "by hand: CleanedUp { users: 1, logins: 0 }",
            "point of MemberLogins, Members, 2 requests: PartitionKey eq 'ada@example.com' and RowKey eq ''",
            "by attribute: 1 fixed of 1",
        ],
    );
    let refused = "refused: the unique index `email` of MemberLogins has `ada@example.com` already";
    let found = "found: index `email`: MemberLogins(PartitionKey='alan@example.com',RowKey='') points to Members(";
    for begins in [refused, found] {
        assert!(output.lines().any(|line| line.starts_with(begins)), "no line begins with `{begins}` in:\n{output}");
    }
}

#[test]
fn employees() {
    assert_lines(
        &output(&mut example("employees")),
        &[
            "key: PartitionKey {department} RowKey number-{number: pad = 8}",
            "email: PartitionKey {email: lowercase} RowKey",
            "phone_book: PartitionKey {department} RowKey phone_book-{last_name: lowercase} {number: pad = 8}",
            "namesakes: PartitionKey {department} RowKey namesakes-{last_name: lowercase}",
            "newest: PartitionKey {city} RowKey {joined: reverse_time} {department} {number: pad = 8}",
            "Grace@Example.com has the number 123",
            "Smith Ada, Smith Grace, SMITH Barbara, Smith-Jones Edsger, Smithson Alan",
            "Judit was the last to join in Bonn",
            "three Smiths, by pointers: 4 requests",
            "lookups of Employees, 1 request at least, and one for each entity: PartitionKey eq 'Sales' \
             and RowKey ge 'last_name-smith ' and RowKey lt 'last_name-smith!'",
            "three Smiths, by a list: 4 requests",
            "lookups of Employees, 1 request at least, and one for each entity: \
             PartitionKey eq 'Sales' and RowKey eq 'namesakes-smith'",
            "three Smiths, by copies: 1 request",
            "an e-mail address: 2 requests",
            "the newest of a city: 1 request",
            "a raise: 3 requests",
            "another name: 5 requests",
            "another address: 6 requests",
        ],
    );
}

#[test]
fn expenses() {
    assert_lines(
        &output(&mut example("expenses")),
        &[
            "range of Expenses, 1 request at least: PartitionKey eq 'Marcus' and RowKey ge '2521274687999999999`' \
             and RowKey lt '2521296287999999999`'",
            "Customer: 3 items, 7830 cents",
            "Conference: 2 items, 25250 cents",
            "Customer has 4 rows",
            "from the second on: Lunch",
            "total: 7830 cents",
            "Receipts",
            "3 receipts, of 160 bytes",
        ],
    );
}

/// Repository in a temporary folder, with a store next to it.
struct Repository {
    folder: TempDir,
}

/// 2010-05-28T00:00Z.
const MAY: u32 = 1_275_004_800;
const DAY: u32 = 86_400;

impl Repository {
    fn new() -> Self {
        let this = Self { folder: TempDir::new().unwrap() };
        this.git(&["init", "--quiet"], b"");
        this.git(&["symbolic-ref", "HEAD", "refs/heads/main"], b"");
        this
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("repository")
    }

    fn git(&self, arguments: &[&str], input: &[u8]) -> String {
        fs::create_dir_all(self.path()).unwrap();
        let mut git = Command::new("git");
        // Git must not use this machine's configuration, a repository around the temporary folder, or variables of a
        // hook.
        for (name, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("GIT_")) {
            git.env_remove(name);
        }
        git.arg("-C").arg(self.path()).args(arguments).env("GIT_CONFIG_NOSYSTEM", "1").env("HOME", self.folder.path());
        let mut git = git.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        git.stdin.take().unwrap().write_all(input).unwrap();
        let output = git.wait_with_output().unwrap();
        assert!(output.status.success(), "git {arguments:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Hash of the commit that `name` refers to.
    fn hash(&self, name: &str) -> String {
        self.git(&["rev-parse", name], b"").trim().to_owned()
    }

    /// Removes the commits that no branch reaches. `commit` is one of them.
    fn remove_unreachable(&self, commit: &str) {
        self.git(&["reflog", "expire", "--expire=now", "--all"], b"");
        // So few commits are not packed: `git fast-import` unpacks up to 100 objects.
        self.git(&["prune", "--expire=now"], b"");
        let found = self.git(&["cat-file", "--batch-check"], format!("{commit}\n").as_bytes());
        assert_eq!(found, format!("{commit} missing\n"));
    }

    /// Adds commits, each with author, Unix time with offset, and message. The first one follows `from`, if given.
    fn commit(&self, branch: &str, from: Option<&str>, commits: &[(&[u8], &str, &[u8])]) {
        let mut import = Vec::new();
        for (at, (author, time, message)) in commits.iter().enumerate() {
            import.extend(format!("commit refs/heads/{branch}\nauthor ").bytes());
            import.extend(*author);
            import.extend(format!(" {time}\ncommitter C <c@example.com> {time}\ndata {}\n", message.len()).bytes());
            import.extend(*message);
            if let (0, Some(from)) = (at, from) {
                import.extend(format!("from {from}\n").bytes());
            }
            import.push(b'\n');
        }
        self.git(&["fast-import", "--quiet", "--force"], &import);
    }

    /// Adds `count` commits of Ada, a day apart.
    fn commit_days(&self, branch: &str, from: Option<&str>, start: u32, count: u32) {
        let times: Vec<String> = (0..count).map(|day| format!("{} +0200", start + day * DAY)).collect();
        let commits: Vec<_> =
            times.iter().map(|time| (&b"Ada <Ada@Example.com>"[..], time.as_str(), &b"Count\n"[..])).collect();
        self.commit(branch, from, &commits);
    }

    fn history(&self, arguments: &[&str]) -> String {
        output(self.history_command().args(arguments))
    }

    fn history_command(&self) -> Command {
        let mut command = example("git_history");
        command.arg(self.path()).arg("--store").arg(self.folder.path().join("store.tables"));
        command
    }

    /// Runs the program and returns the printed numbers of new commits and of all commits.
    fn new_and_all(&self) -> (String, String) {
        let output = self.history(&[]);
        let line = |name: &str| {
            let line = output.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim().split(" in ").next().unwrap().to_owned()
        };
        (line("new "), line("in all "))
    }

    #[track_caller]
    fn assert_new_and_all(&self, new: &str, all: &str) {
        assert_eq!(self.new_and_all(), (new.to_owned(), all.to_owned()));
    }
}

#[test]
fn git_history_reads_only_what_is_new() {
    let repository = Repository::new();
    repository.commit_days("main", None, MAY, 40);
    repository.commit("side", None, &[(b"Alan <alan@example.com>", "1275004800 +0000", b"Begin\n")]);
    repository.assert_new_and_all("41 commits", "41 commits by 2 authors");
    repository.assert_new_and_all("0 commits", "41 commits by 2 authors");

    repository.commit_days("main", Some("refs/heads/main^0"), MAY + 40 * DAY, 3);
    repository.assert_new_and_all("3 commits", "44 commits by 2 authors");
    repository.assert_new_and_all("0 commits", "44 commits by 2 authors");

    let output = repository.history(&["--authors", "1", "--since", "2010-05-29", "--until", "2010-06-01"]);
    assert_lines(
        &output,
        &[
            "Ada <Ada@Example.com>, 43 commits",
            "Their commits from 2010-05-29 to 2010-06-01",
            "4       0         4  Ada",
            "range of Commits, first 3, 1 request at least: PartitionKey eq 'ada@example.com'",
        ],
    );
}

#[test]
fn git_history_draws_commits_by_month() {
    let repository = Repository::new();
    // 4 days of May 2010, 30 of June, 6 of July, and one commit in March 2011.
    repository.commit_days("main", None, MAY, 40);
    repository.commit_days("side", None, MAY + 300 * DAY, 1);
    let output = repository.history(&["--chart"]);
    let chart = "
Commits by month

       30 │  █
          │  █
          │  █
          │  █
          │  █
          │  █
          │ ▁█▅
          │ ███       ▃
        0 ┴────────────
                    2011
";
    assert!(output.contains(chart), "{output}");
    assert_lines(&output, &["table scan of Commits, 1 request at least"]);
}

#[test]
fn git_history_draws_the_commits_of_eight_thousand_years() {
    let repository = Repository::new();
    let times = ["0 +0000", "253402300800 +0000"];
    let commits = times.map(|time| (&b"Ada <ada@example.com>"[..], time, &b"Begin\n"[..]));
    repository.commit("main", None, &commits);
    let output = repository.history(&["--chart"]);
    assert!(output.contains("Commits by 1418 months"), "{output}");
    let line = output.lines().find(|line| line.starts_with("        1 │")).unwrap();
    assert_eq!(line.chars().count(), 80, "{output}");
}

#[test]
fn git_history_finds_commits_by_hash_and_subject_across_authors() {
    let repository = Repository::new();
    let long = format!("fix {}\n", "\u{1}/ ".repeat(500));
    repository.commit(
        "main",
        None,
        &[
            (b"Ada <ada@example.com>", "1275004800 +0000", b"Fix the sums\n"),
            (b"Alan <alan@example.com>", "1275008400 +0000", b"fix the machine\n"),
            (b"Ada <ada@example.com>", "1275012000 +0000", b"Add a sum\n"),
            (b"Grace <grace@example.com>", "1275015600 +0000", long.as_bytes()),
        ],
    );
    let hash = repository.hash("main~2");
    let short = &hash[..10];
    let output = repository.history(&["--commit", &hash[..12].to_uppercase(), "--subject", "FIX THE"]);
    assert_lines(
        &output,
        &[
            "2010-05-28 01:00  SHORT  fix the machine, Alan".replace("SHORT", short).as_str(),
            &format!(
                "lookups of CommitsByHash, Commits, first 5, 1 request at least, and one for each entity: \
                 PartitionKey eq '{}' and RowKey ge '{}' and RowKey lt '{}'",
                &hash[..2],
                &hash[..12],
                after(&hash[..12]),
            ),
        ],
    );
    let machine = output.rfind("fix the machine, Alan").unwrap();
    let sums = output.rfind("Fix the sums, Ada").unwrap();
    assert!(machine < sums, "{output}");
    assert!(!output.contains("Add a sum, Ada"), "{output}");

    let output = repository.history(&["--commit", "0123456789abcdef", "--subject", "remove"]);
    assert_eq!(output.lines().filter(|line| line.trim() == "none").count(), 2, "{output}");
    let too_short = errors(repository.history_command().args(["--commit", "a"]));
    assert!(too_short.contains("the prefix \"a\" is too short"), "{too_short}");
}

/// Returns the first text after all texts that begin with this hash.
fn after(hash: &str) -> String {
    let (rest, last) = hash.split_at(hash.len() - 1);
    format!("{rest}{}", char::from(last.as_bytes()[0] + 1))
}

#[test]
fn git_history_stores_a_commit_once_if_the_mailmap_changes() {
    let repository = Repository::new();
    repository.commit_days("main", None, MAY, 5);
    repository.assert_new_and_all("5 commits", "5 commits by 1 author");

    // The known head no longer exists, so every commit is read again, now with another address.
    fs::write(repository.path().join(".mailmap"), "Ada <ada@example.org> <ada@example.com>\n").unwrap();
    let head = repository.hash("main");
    repository.commit_days("main", Some("refs/heads/main~1"), MAY + 20 * DAY, 2);
    repository.remove_unreachable(&head);
    repository.assert_new_and_all("2 commits", "7 commits by 2 authors");
}

#[test]
fn git_history_handles_a_rewritten_history() {
    let repository = Repository::new();
    repository.commit_days("main", None, MAY, 5);
    repository.assert_new_and_all("5 commits", "5 commits by 1 author");

    // The known head is unreachable: commits are read back to where the two histories part.
    repository.commit_days("main", Some("refs/heads/main~2"), MAY + 10 * DAY, 1);
    repository.assert_new_and_all("1 commit", "6 commits by 1 author");

    // The known head no longer exists.
    let head = repository.hash("main");
    repository.commit_days("main", Some("refs/heads/main~1"), MAY + 20 * DAY, 2);
    repository.remove_unreachable(&head);
    repository.assert_new_and_all("2 commits", "8 commits by 1 author");
}

#[test]
fn git_history_repeats_an_interrupted_run() {
    let (whole, cut) = (Repository::new(), Repository::new());
    for repository in [&whole, &cut] {
        repository.commit_days("main", None, MAY, 3000);
    }
    let mut run = cut.history_command().stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(150));
    // On a fast machine, the process may have ended already.
    run.kill().unwrap();
    run.wait().unwrap();
    assert_eq!(cut.new_and_all().1, "3,000 commits by 1 author");
    whole.history(&[]);

    let answers = |repository: &Repository| {
        let output = repository.history(&["--since", "2010-06-01", "--until", "2012-01-01"]);
        let (from, to) = (output.find("The busiest").unwrap(), output.find("Costs of the queries").unwrap());
        output[from..to].to_owned()
    };
    assert_eq!(answers(&cut), answers(&whole));
}

#[test]
fn git_history_accepts_unusual_commits() {
    let repository = Repository::new();
    repository.commit(
        "main",
        None,
        &[
            (b"J\xe9r\xf4me <j@example.com>", "0 -0330", b"\x1b[31mRed\x00\n"),
            (b"<>", "253402300800 +1400", b""),
            (b"Nobody <>", "99999999999 -0730", b"a\x1eb\nc\n\nd\n"),
            (b"Slash <a/b#c?d%e~f\\g>", "1275004800 +0000", "\u{202e}/\n".repeat(5000).as_bytes()),
        ],
    );
    repository.assert_new_and_all("4 commits", "4 commits by 4 authors");
    repository.assert_new_and_all("0 commits", "4 commits by 4 authors");
    let output = repository.history(&["--until", "1999-12-31"]);
    assert_lines(
        &output,
        &[
            "J\u{fffd}r\u{fffd}me <j@example.com>, 1 commit",
            "Nobody <Nobody>, 1 commit",
            "Their commits until 1999-12-31",
        ],
    );
    assert!(!output.contains('\x1b'), "{output}");
}

#[test]
fn git_history_reads_older_commits_after_a_shallow_clone() {
    let origin = Repository::new();
    origin.commit_days("main", None, MAY, 4);
    let clone = Repository { folder: TempDir::new().unwrap() };
    let url = format!("file://{}", origin.path().display());
    clone.git(&["clone", "--quiet", "--depth", "1", &url, "."], b"");
    clone.assert_new_and_all("1 commit", "1 commit by 1 author");
    clone.git(&["fetch", "--quiet", "--unshallow"], b"");
    clone.assert_new_and_all("3 commits", "4 commits by 1 author");
}

#[test]
fn git_history_reports_an_empty_repository() {
    let repository = Repository::new();
    let output = repository.history(&[]);
    assert!(output.contains("Nothing has been committed here yet"), "{output}");
    repository.commit_days("main", None, MAY, 1);
    repository.assert_new_and_all("1 commit", "1 commit by 1 author");
}

#[test]
fn git_history_reports_errors() {
    let folder = TempDir::new().unwrap();
    let run = |path: &Path| {
        let mut command = example("git_history");
        command.arg(path).env("GIT_CEILING_DIRECTORIES", folder.path().parent().unwrap());
        command
    };
    let not_a_repository = errors(&mut run(folder.path()));
    assert!(not_a_repository.contains("fatal: not a git repository"), "{not_a_repository}");
    let missing = errors(&mut run(&folder.path().join("missing")));
    assert!(missing.contains("No such file or directory"), "{missing}");
    let no_git = errors(run(folder.path()).env("PATH", ""));
    assert!(no_git.contains("git was not found: install it"), "{no_git}");

    let repository = Repository::new();
    let no_store = repository.path().join("store.tables");
    fs::write(&no_store, "not a store").unwrap();
    let no_store = errors(run(&repository.path()).arg("--store").arg(no_store));
    assert!(no_store.contains("cannot open"), "{no_store}");
    let backwards = errors(run(&repository.path()).args(["--since", "2010-06-01", "--until", "2010-05-01"]));
    assert!(backwards.contains("is after"), "{backwards}");
}

#[test]
fn bulk_load() {
    let output = output(example("bulk_load").args(["--rows", "25000", "--single", "20"]));
    assert_lines(&output, &["sensor 0 has 10000 rows"]);
    assert!(output.contains("25,000 rows in "), "{output}");
}
