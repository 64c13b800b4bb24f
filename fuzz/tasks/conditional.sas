begin_version
3
end_version
begin_metric
1
end_metric
4
begin_variable
var0
-1
3
Atom f0-0()
Atom f0-1()
Atom f0-2()
end_variable
begin_variable
var1
-1
2
Atom f1-0()
Atom f1-1()
end_variable
begin_variable
var2
-1
2
Atom f2-0()
Atom f2-1()
end_variable
begin_variable
var3
0
2
Atom f3-0()
Atom f3-1()
end_variable
0
begin_state
0
1
0
1
end_state
begin_goal
2
0 2
3 0
end_goal
4
begin_operator
step a
0
3
1 1 1 0 -1 1
1 1 0 0 -1 2
0 1 -1 1
3
end_operator
begin_operator
flip b
1
0 1
2
0 1 1 1
0 1 1 0
2
end_operator
begin_operator
light c
1
1 0
2
0 2 0 1
1 0 1 0 -1 0
0
end_operator
begin_operator
jump d
0
1
2 1 0 2 1 0 -1 2
4
end_operator
2
begin_rule
2
1 0
2 1
3 1 0
end_rule
begin_rule
1
0 2
3 1 0
end_rule
