; A function whose body is written for one intrinsic and its types.

define $R @$NAME($PARAMS) alwaysinline {
$BODY
}
$DECLARATIONS
