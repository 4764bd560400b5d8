# shellcheck shell=bash
# Sourced after common.sh by the scripts that call AWS: the stack's name, its state, and the caller.
export SAM_CLI_TELEMETRY=0
: "${STAGE:?}" "${STACK:?}"
[[ $STAGE =~ ^[a-z][a-z0-9-]{0,15}$ ]] || die "STAGE is 1 to 16 small letters, digits and dashes, a letter first; not '$STAGE'."

# Installs the tools, and sets `caller` and `region`.
use_aws() {
    scripts/tools
    PATH=$PWD/.tools/bin:$PATH
    caller=$(aws sts get-caller-identity --output text --query Arn) ||
        die "AWS does not know you. Set credentials (.tools/bin/aws configure, or AWS_PROFILE), and try again."
    region=${AWS_REGION:-${AWS_DEFAULT_REGION:-$(aws configure get region || true)}}
    [ -n "$region" ] || die "Which region? Set AWS_REGION, or a default with: .tools/bin/aws configure set region eu-central-1"
    export AWS_REGION=$region AWS_DEFAULT_REGION=$region caller
}

# Succeeds when a resource exists: `there ResourceNotFoundException aws dynamodb describe-table
# ...`. The first argument is the error by which AWS says that it does not exist. Any other error,
# such as an expired token or a missing permission, ends the script. Sets `said` to AWS's answer.
there() {
    local missing=$1
    shift
    if said=$("$@" --output text 2>&1); then return 0; fi
    [[ $said == *"$missing"* ]] || die "AWS refused a request, so the script stops. The answer to \`$*\`:" "$said"
    return 1
}

# Prints the status of the stack, or `none`.
stack_status() {
    local said
    if said=$(aws cloudformation describe-stacks --stack-name "$STACK" --output text --query 'Stacks[0].StackStatus' 2>&1); then
        echo "$said"
    elif [[ $said == *"does not exist"* ]]; then
        echo none
    else
        die "CloudFormation does not say how the stack $STACK is: $said"
    fi
}

# Reads all outputs of the stack once, for `output`: a call of `aws` takes a second.
read_outputs() {
    outputs=$(aws cloudformation describe-stacks --stack-name "$STACK" --output text \
        --query 'Stacks[0].Outputs[].[OutputKey,OutputValue]')
}

# Prints an output of the stack, or nothing.
output() {
    awk -F '\t' -v key="$1" '$1 == key { print $2 }' <<<"$outputs"
}

# Prints the resources that a deletion keeps (DeletionPolicy RetainExceptOnCreate), from the
# template: logical id, type and name of each.
kept_resources() {
    awk -v stage="$STAGE" '
        /^[A-Z]/ { id = "" }
        /^  [A-Za-z0-9]+:$/ { id = $1; sub(/:/, "", id); kept = 0 }
        /^    Type: / { type = $2 }
        /^    DeletionPolicy: RetainExceptOnCreate/ { kept = 1 }
        id != "" && kept && /^      (TableName|Name): / {
            sub(/.*!Sub "/, ""); sub(/".*/, ""); gsub(/[$][{]Stage[}]/, stage)
            print id, type, $0
        }' template.yaml
}

# Succeeds when an earlier stack left this resource, by type and name. Sets `identifier` to the
# property by which CloudFormation imports it, and the value.
# shellcheck disable=SC2034 # scripts/deploy reads it
is_kept() {
    case $1 in
        AWS::DynamoDB::Table)
            there ResourceNotFoundException aws dynamodb describe-table --table-name "$2" --query Table.TableStatus || return 1
            identifier="TableName=$2" ;;
        AWS::SecretsManager::Secret)
            there ResourceNotFoundException aws secretsmanager describe-secret --secret-id "$2" --query ARN || return 1
            identifier="Id=$said" ;;
        *) die "template.yaml keeps a resource of the type $1, and scripts/aws.sh cannot look for that type." ;;
    esac
}
