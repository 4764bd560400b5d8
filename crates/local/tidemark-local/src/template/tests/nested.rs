//! Nested stacks, included files, and assets of the CDK.

use std::collections::BTreeMap;
use std::path::Path;

use super::super::{Template, TemplateError, read_in};

const CHILD: &str = r#"
Parameters:
  Name: { Type: String }
  Kinds: { Type: CommaDelimitedList, Default: 'a, b' }
Conditions: { Never: !Equals [a, b] }
Mappings: { Sizes: { small: { memory: 256 } } }
Resources:
  Table:
    Type: AWS::Serverless::SimpleTable
    Properties: { TableName: !Sub '${Name}-${AWS::Region}' }
  Other: { Type: AWS::SQS::Queue, Condition: Never }
  Worker:
    Type: AWS::Serverless::Function
    DependsOn: Table
    Properties:
      Runtime: provided.al2023
      CodeUri: worker
      MemorySize: !FindInMap [Sizes, small, memory]
      Environment: { Variables: { TABLE: !Ref Table, KIND: !Select [1, !Ref Kinds], ROLE: !GetAtt WorkerRole.Arn, NEVER: !If [Never, x, y] } }
Outputs: { Worker: { Value: !GetAtt Worker.Arn } }
"#;

const PARENT: &str = r#"
Conditions: { Always: !Equals [a, a] }
Resources:
  Things:
    Type: AWS::Serverless::Application
    Condition: Always
    Properties: { Location: child/template.yaml, Parameters: { Name: !Sub 'things-${Queue.QueueName}' } }
  Queue: { Type: AWS::SQS::Queue, Properties: { QueueName: q } }
  Caller:
    Type: AWS::Serverless::Function
    DependsOn: Things
    Properties:
      Runtime: provided.al2023
      Environment: { Variables: { WORKER: !GetAtt Things.Outputs.Worker, TEXT: !Sub 'to ${Things.Outputs.Worker}' } }
"#;

fn read_files(files: &[(&str, &str)]) -> Result<Template, TemplateError> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    read_in(Some(folder.path()), files[0].1, &BTreeMap::new())
}

#[test]
fn nested_stack_gets_parameters_and_gives_outputs() {
    let read = read_files(&[("template.yaml", PARENT), ("child/template.yaml", CHILD)]);
    let stack = read.unwrap_or_else(|error| panic!("{error}")).stack;
    assert_eq!(stack.tables[0].name, "things-q-us-east-1");
    assert_eq!(stack.queues.len(), 1, "the condition of the other queue does not hold");
    let [worker, caller] = stack.functions.as_slice() else { panic!("{:?}", stack.functions) };
    let of = |name: &str| worker.environment[name].as_str();
    assert_eq!((worker.logical_id.as_str(), worker.memory_size_mib), ("ThingsWorker", 256));
    assert_eq!(worker.code_uri, Path::new("child/worker"));
    assert_eq!([of("TABLE"), of("KIND"), of("NEVER")], ["things-q-us-east-1", "b", "y"]);
    let arn = "arn:aws:lambda:us-east-1:000000000000:function:tidemark-local-ThingsWorker";
    assert_eq!(
        (caller.environment["WORKER"].as_str(), caller.environment["TEXT"].as_str()),
        (arn, &*format!("to {arn}"))
    );
}

#[test]
fn nested_stack_has_only_its_own_globals() {
    let parent = format!("Globals: {{ Function: {{ Timeout: 9, Handler: parents }} }}\n{PARENT}");
    let child = format!("Globals: {{ Function: {{ Timeout: 8 }} }}\n{CHILD}");
    let read = read_files(&[("template.yaml", &parent), ("child/template.yaml", &child)]);
    let stack = read.unwrap_or_else(|error| panic!("{error}")).stack;
    let of = |number: usize| (stack.functions[number].timeout.as_secs(), stack.functions[number].handler.as_str());
    assert_eq!((of(0), of(1)), ((8, ""), (9, "parents")));
}

#[test]
fn nested_stack_without_its_file_or_parameter_is_refused() {
    let problem = |parent: &str, child: &str| {
        let error = read_files(&[("template.yaml", parent), ("child/template.yaml", child)]).unwrap_err();
        error.problems[0].to_string()
    };
    let missing = problem(&PARENT.replace("child/template.yaml", "child/other.yaml"), CHILD);
    assert!(missing.contains("child/other.yaml cannot be read"), "{missing}");
    let unknown = problem(&PARENT.replace("{ Name:", "{ Named: x, Name:"), CHILD);
    assert!(unknown.contains("does not declare it"), "{unknown}");
    let without = problem(PARENT, &CHILD.replace("Type: String", "Type: String }\n  Size: { Type: String"));
    assert!(without.contains("needs the parameter Size"), "{without}");
    let remote = problem(&PARENT.replace("child/template.yaml", "'https://a.example/t.yaml'"), CHILD);
    assert!(remote.contains("its Location must be a template on this machine"), "{remote}");
    let wrong = problem(PARENT, &CHILD.replace("CodeUri", "CodeUrl"));
    assert!(wrong.starts_with("child/template.yaml, line 17, column 16: "), "{wrong}");
}

#[test]
fn output_passes_through_two_nested_stacks() {
    let parent = "Resources:
  A: { Type: AWS::CloudFormation::Stack, Properties: { TemplateURL: a.yaml, Parameters: { T: !GetAtt C.Outputs.Name } } }
  C: { Type: AWS::CloudFormation::Stack, Properties: { TemplateURL: c.yaml } }
  Queue: { Type: AWS::SQS::Queue, Properties: { QueueName: !Sub 'of-${A.Outputs.X}' } }
";
    let a = "Parameters: { T: { Type: String } }
Resources: { Other: { Type: AWS::SQS::Queue, Properties: { QueueName: !Sub '${T}-a' } } }
Outputs: { X: { Value: !Ref T } }
";
    let c = "Resources: { Q: { Type: AWS::SQS::Queue, Properties: { QueueName: c } } }
Outputs: { Name: { Value: !GetAtt Q.QueueName } }
";
    let read = read_files(&[("template.yaml", parent), ("a.yaml", a), ("c.yaml", c)]);
    let queues = read.unwrap_or_else(|error| panic!("{error}")).stack.queues;
    let mut names: Vec<&str> = queues.iter().map(|queue| queue.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["c", "c-a", "of-c"]);
}

#[test]
fn resources_whose_joined_names_are_the_same_are_refused() {
    let parent = format!("{PARENT}  ThingsTable: {{ Type: AWS::SQS::Queue }}\n");
    let error = read_files(&[("template.yaml", &parent), ("child/template.yaml", CHILD)]).unwrap_err();
    let named = |problem: &str| {
        problem.contains("Resources.ThingsTable")
            && problem.contains("Resources.Table of child/template.yaml")
            && problem.contains("both named ThingsTable")
    };
    assert!(error.problems.iter().any(|problem| named(&problem.message)), "{error}");
}

#[test]
fn problem_of_a_nested_stack_names_its_own_file() {
    let parent = "Resources: { A: { Type: AWS::CloudFormation::Stack, Properties: { TemplateURL: a/a.yaml } } }";
    let a = "Resources: { B: { Type: AWS::CloudFormation::Stack, Properties: { TemplateURL: b/b.yaml } } }";
    let b = "Resources: { Q: { Type: AWS::SQS::Queue, Properties: { QueueNam: q } } }";
    let error = read_files(&[("template.yaml", parent), ("a/a.yaml", a), ("a/b/b.yaml", b)]).unwrap_err();
    assert_eq!(error.problems[0].file.as_deref(), Some("a/b/b.yaml"), "{error}");
}

#[test]
fn stack_that_contains_itself_is_refused() {
    let parent = "Resources: { A: { Type: AWS::CloudFormation::Stack, Properties: { TemplateURL: template.yaml } } }";
    let error = read_files(&[("template.yaml", parent)]).unwrap_err();
    assert!(error.problems.iter().any(|problem| problem.message.contains("at most 8 deep")), "{error}");
}

#[test]
fn file_is_included_where_the_template_says() {
    let parent = "Resources:
  Queue: { Type: AWS::SQS::Queue, Properties: { 'Fn::Transform': { Name: 'AWS::Include', Parameters: { Location: queue.yaml } } } }
";
    let read = |queue: &str| read_files(&[("template.yaml", parent), ("queue.yaml", queue)]);
    assert_eq!(read("QueueName: included").unwrap().stack.queues[0].name, "included");
    let error = read("\nQueueNam: included").unwrap_err().problems[0].clone();
    assert_eq!((error.file.as_deref(), error.line), (Some("queue.yaml"), 2));
}

#[test]
fn flow_collection_may_close_at_its_parents_indentation() {
    let yaml = "Resources:
  Fn:
    Type: AWS::Serverless::Function
    Properties: {
      Runtime: provided.al2023,
      Environment: { Variables: {
  A: b
}
},
  }
  Queue:
    Type: AWS::SQS::Queue
    Properties: {
QueueName: !Ref Nobody
    }
";
    let error = super::problems(yaml);
    assert_eq!((error[0].line, error[0].column), (14, 12), "{error:?}");
    let stack = super::read(&yaml.replace("!Ref Nobody", "q"), &BTreeMap::new()).unwrap().stack;
    assert_eq!((stack.functions[0].environment["A"].as_str(), stack.queues[0].name.as_str()), ("b", "q"));
}
