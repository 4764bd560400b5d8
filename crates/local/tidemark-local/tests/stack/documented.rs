//! The example of `docs/testing.md`, word for word.

use std::time::Duration;

use tidemark_local::Stack;
use tidemark_local::testing::TestError;

pub(crate) async fn failed_job_is_tried_again() -> Result<(), TestError> {
    let stack = Stack::template("template.yaml").start().await?;
    let answer = stack.http("ServerlessHttpApi").get("/things/7").await?;
    assert_eq!(answer.status, 200);

    stack.fail("Worker", 1)?;
    stack.queue("Jobs").send("hello")?;
    stack.settle().await?;
    assert_eq!(stack.queue("Jobs").messages()?, ["hello"]);

    stack.advance(Duration::from_secs(60)).await?;
    assert!(stack.queue("Jobs").messages()?.is_empty());
    Ok(())
}
