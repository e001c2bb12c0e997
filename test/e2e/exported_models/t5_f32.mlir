module @module {
  func.func @main(%arg0: !torch.vtensor<[1,37,32],f32>, %arg1: !torch.vtensor<[40,32],f32>, %arg2: !torch.vtensor<[40,32],f32>, %arg3: !torch.vtensor<[40,32],f32>, %arg4: !torch.vtensor<[32,40],f32>, %arg5: !torch.vtensor<[32,2],f32>, %arg6: !torch.vtensor<[32],f32>, %arg7: !torch.vtensor<[48,32],f32>, %arg8: !torch.vtensor<[32,48],f32>, %arg9: !torch.vtensor<[32],f32>, %arg10: !torch.vtensor<[32],f32>) -> !torch.vtensor<[1,37,32],f32> attributes {torch.assume_strict_symbolic_shapes} {
    %int37 = torch.constant.int 37
    %none = torch.constant.none
    %cpu = torch.constant.device "cpu"
    %false = torch.constant.bool false
    %0 = torch.aten.arange %int37, %none, %none, %cpu, %false : !torch.int, !torch.none, !torch.none, !torch.Device, !torch.bool -> !torch.vtensor<[37],si64>
    %int0 = torch.constant.int 0
    %int1 = torch.constant.int 1
    %1 = torch.aten.add.Scalar %0, %int0, %int1 : !torch.vtensor<[37],si64>, !torch.int, !torch.int -> !torch.vtensor<[37],si64>
    %2 = torch.aten.unsqueeze %1, %int0 : !torch.vtensor<[37],si64>, !torch.int -> !torch.vtensor<[1,37],si64>
    %3 = torch.aten.unsqueeze %2, %int1 : !torch.vtensor<[1,37],si64>, !torch.int -> !torch.vtensor<[1,1,37],si64>
    %int3 = torch.constant.int 3
    %4 = torch.aten.unsqueeze %3, %int3 : !torch.vtensor<[1,1,37],si64>, !torch.int -> !torch.vtensor<[1,1,37,1],si64>
    %5 = torch.aten.ge.Scalar %4, %int0 : !torch.vtensor<[1,1,37,1],si64>, !torch.int -> !torch.vtensor<[1,1,37,1],i1>
    %int-1 = torch.constant.int -1
    %6 = torch.prim.ListConstruct %int1, %int-1, %int37, %int37 : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %7 = torch.aten.expand %5, %6, %false : !torch.vtensor<[1,1,37,1],i1>, !torch.list<int>, !torch.bool -> !torch.vtensor<[1,1,37,37],i1>
    %8 = torch.aten.clone %arg0, %none : !torch.vtensor<[1,37,32],f32>, !torch.none -> !torch.vtensor<[1,37,32],f32>
    %int6 = torch.constant.int 6
    torch.aten._assert_tensor_metadata %8, %none, %none, %int6, %cpu, %int0 : !torch.vtensor<[1,37,32],f32>, !torch.none, !torch.none, !torch.int, !torch.Device, !torch.int
    %int2 = torch.constant.int 2
    %9 = torch.aten.pow.Tensor_Scalar %8, %int2 : !torch.vtensor<[1,37,32],f32>, !torch.int -> !torch.vtensor<[1,37,32],f32>
    %10 = torch.prim.ListConstruct %int-1 : (!torch.int) -> !torch.list<int>
    %true = torch.constant.bool true
    %11 = torch.aten.mean.dim %9, %10, %true, %none : !torch.vtensor<[1,37,32],f32>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[1,37,1],f32>
    %float9.999990e-07 = torch.constant.float 9.9999999999999995E-7
    %12 = torch.aten.add.Scalar %11, %float9.999990e-07, %int1 : !torch.vtensor<[1,37,1],f32>, !torch.float, !torch.int -> !torch.vtensor<[1,37,1],f32>
    %13 = torch.aten.rsqrt %12 : !torch.vtensor<[1,37,1],f32> -> !torch.vtensor<[1,37,1],f32>
    %14 = torch.aten.mul.Tensor %8, %13 : !torch.vtensor<[1,37,32],f32>, !torch.vtensor<[1,37,1],f32> -> !torch.vtensor<[1,37,32],f32>
    %15 = torch.aten.mul.Tensor %arg6, %14 : !torch.vtensor<[32],f32>, !torch.vtensor<[1,37,32],f32> -> !torch.vtensor<[1,37,32],f32>
    %16 = torch.aten.linear %15, %arg1, %none : !torch.vtensor<[1,37,32],f32>, !torch.vtensor<[40,32],f32>, !torch.none -> !torch.vtensor<[1,37,40],f32>
    %int20 = torch.constant.int 20
    %17 = torch.prim.ListConstruct %int1, %int37, %int-1, %int20 : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %18 = torch.aten.view %16, %17 : !torch.vtensor<[1,37,40],f32>, !torch.list<int> -> !torch.vtensor<[1,37,2,20],f32>
    %19 = torch.aten.transpose.int %18, %int1, %int2 : !torch.vtensor<[1,37,2,20],f32>, !torch.int, !torch.int -> !torch.vtensor<[1,2,37,20],f32>
    %20 = torch.aten.linear %15, %arg2, %none : !torch.vtensor<[1,37,32],f32>, !torch.vtensor<[40,32],f32>, !torch.none -> !torch.vtensor<[1,37,40],f32>
    %21 = torch.aten.view %20, %17 : !torch.vtensor<[1,37,40],f32>, !torch.list<int> -> !torch.vtensor<[1,37,2,20],f32>
    %22 = torch.aten.transpose.int %21, %int1, %int2 : !torch.vtensor<[1,37,2,20],f32>, !torch.int, !torch.int -> !torch.vtensor<[1,2,37,20],f32>
    %23 = torch.aten.linear %15, %arg3, %none : !torch.vtensor<[1,37,32],f32>, !torch.vtensor<[40,32],f32>, !torch.none -> !torch.vtensor<[1,37,40],f32>
    %24 = torch.aten.view %23, %17 : !torch.vtensor<[1,37,40],f32>, !torch.list<int> -> !torch.vtensor<[1,37,2,20],f32>
    %25 = torch.aten.transpose.int %24, %int1, %int2 : !torch.vtensor<[1,37,2,20],f32>, !torch.int, !torch.int -> !torch.vtensor<[1,2,37,20],f32>
    %int4 = torch.constant.int 4
    %26 = torch.aten.arange %int37, %int4, %none, %cpu, %false : !torch.int, !torch.int, !torch.none, !torch.Device, !torch.bool -> !torch.vtensor<[37],si64>
    %27 = torch.aten.unsqueeze %26, %int1 : !torch.vtensor<[37],si64>, !torch.int -> !torch.vtensor<[37,1],si64>
    %28 = torch.aten.add.Scalar %27, %int0, %int1 : !torch.vtensor<[37,1],si64>, !torch.int, !torch.int -> !torch.vtensor<[37,1],si64>
    %29 = torch.aten.arange %int37, %int4, %none, %cpu, %false : !torch.int, !torch.int, !torch.none, !torch.Device, !torch.bool -> !torch.vtensor<[37],si64>
    %30 = torch.aten.unsqueeze %29, %int0 : !torch.vtensor<[37],si64>, !torch.int -> !torch.vtensor<[1,37],si64>
    %31 = torch.aten.sub.Tensor %30, %28, %int1 : !torch.vtensor<[1,37],si64>, !torch.vtensor<[37,1],si64>, !torch.int -> !torch.vtensor<[37,37],si64>
    %32 = torch.aten.gt.Scalar %31, %int0 : !torch.vtensor<[37,37],si64>, !torch.int -> !torch.vtensor<[37,37],i1>
    %int11 = torch.constant.int 11
    torch.aten._assert_tensor_metadata %32, %none, %none, %int11, %cpu, %int0 : !torch.vtensor<[37,37],i1>, !torch.none, !torch.none, !torch.int, !torch.Device, !torch.int
    %33 = torch.prims.convert_element_type %32, %int4 : !torch.vtensor<[37,37],i1>, !torch.int -> !torch.vtensor<[37,37],si64>
    %int16 = torch.constant.int 16
    %34 = torch.aten.mul.Scalar %33, %int16 : !torch.vtensor<[37,37],si64>, !torch.int -> !torch.vtensor<[37,37],si64>
    %35 = torch.aten.add.Scalar %34, %int0, %int1 : !torch.vtensor<[37,37],si64>, !torch.int, !torch.int -> !torch.vtensor<[37,37],si64>
    %36 = torch.aten.abs %31 : !torch.vtensor<[37,37],si64> -> !torch.vtensor<[37,37],si64>
    %int8 = torch.constant.int 8
    %37 = torch.aten.lt.Scalar %36, %int8 : !torch.vtensor<[37,37],si64>, !torch.int -> !torch.vtensor<[37,37],i1>
    torch.aten._assert_tensor_metadata %36, %none, %none, %int4, %cpu, %int0 : !torch.vtensor<[37,37],si64>, !torch.none, !torch.none, !torch.int, !torch.Device, !torch.int
    %38 = torch.prims.convert_element_type %36, %int6 : !torch.vtensor<[37,37],si64>, !torch.int -> !torch.vtensor<[37,37],f32>
    %39 = torch.aten.div.Scalar %38, %int8 : !torch.vtensor<[37,37],f32>, !torch.int -> !torch.vtensor<[37,37],f32>
    %40 = torch.aten.log %39 : !torch.vtensor<[37,37],f32> -> !torch.vtensor<[37,37],f32>
    %float2.772590e00 = torch.constant.float 2.7725887222397811
    %41 = torch.aten.div.Scalar %40, %float2.772590e00 : !torch.vtensor<[37,37],f32>, !torch.float -> !torch.vtensor<[37,37],f32>
    %42 = torch.aten.mul.Scalar %41, %int8 : !torch.vtensor<[37,37],f32>, !torch.int -> !torch.vtensor<[37,37],f32>
    torch.aten._assert_tensor_metadata %42, %none, %none, %int6, %cpu, %int0 : !torch.vtensor<[37,37],f32>, !torch.none, !torch.none, !torch.int, !torch.Device, !torch.int
    %43 = torch.prims.convert_element_type %42, %int4 : !torch.vtensor<[37,37],f32>, !torch.int -> !torch.vtensor<[37,37],si64>
    %44 = torch.aten.add.Scalar %43, %int8, %int1 : !torch.vtensor<[37,37],si64>, !torch.int, !torch.int -> !torch.vtensor<[37,37],si64>
    %int15 = torch.constant.int 15
    %45 = torch.aten.full_like %44, %int15, %none, %none, %none, %false, %none : !torch.vtensor<[37,37],si64>, !torch.int, !torch.none, !torch.none, !torch.none, !torch.bool, !torch.none -> !torch.vtensor<[37,37],si64>
    %46 = torch.aten.min.other %44, %45 : !torch.vtensor<[37,37],si64>, !torch.vtensor<[37,37],si64> -> !torch.vtensor<[37,37],si64>
    %47 = torch.aten.where.self %37, %36, %46 : !torch.vtensor<[37,37],i1>, !torch.vtensor<[37,37],si64>, !torch.vtensor<[37,37],si64> -> !torch.vtensor<[37,37],si64>
    %48 = torch.aten.add.Tensor %35, %47, %int1 : !torch.vtensor<[37,37],si64>, !torch.vtensor<[37,37],si64>, !torch.int -> !torch.vtensor<[37,37],si64>
    %49 = torch.aten.embedding %arg5, %48, %int-1, %false, %false : !torch.vtensor<[32,2],f32>, !torch.vtensor<[37,37],si64>, !torch.int, !torch.bool, !torch.bool -> !torch.vtensor<[37,37,2],f32>
    %50 = torch.prim.ListConstruct %int2, %int0, %int1 : (!torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %51 = torch.aten.permute %49, %50 : !torch.vtensor<[37,37,2],f32>, !torch.list<int> -> !torch.vtensor<[2,37,37],f32>
    %52 = torch.aten.unsqueeze %51, %int0 : !torch.vtensor<[2,37,37],f32>, !torch.int -> !torch.vtensor<[1,2,37,37],f32>
    %float-3.402820e38 = torch.constant.float -3.4028234663852886E+38
    %53 = torch.aten.where.ScalarOther %7, %52, %float-3.402820e38 : !torch.vtensor<[1,1,37,37],i1>, !torch.vtensor<[1,2,37,37],f32>, !torch.float -> !torch.vtensor<[1,2,37,37],f32>
    %54 = torch.aten.clone %53, %int0 : !torch.vtensor<[1,2,37,37],f32>, !torch.int -> !torch.vtensor<[1,2,37,37],f32>
    %float0.000000e00 = torch.constant.float 0.000000e+00
    %float1.000000e00 = torch.constant.float 1.000000e+00
    %55 = torch.aten.scaled_dot_product_attention %19, %22, %25, %54, %float0.000000e00, %false, %float1.000000e00, %false : !torch.vtensor<[1,2,37,20],f32>, !torch.vtensor<[1,2,37,20],f32>, !torch.vtensor<[1,2,37,20],f32>, !torch.vtensor<[1,2,37,37],f32>, !torch.float, !torch.bool, !torch.float, !torch.bool -> !torch.vtensor<[1,2,37,20],f32>
    %56 = torch.prim.ListConstruct %int1, %int2, %int37, %int20 : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %57 = torch.aten.view %55, %56 : !torch.vtensor<[1,2,37,20],f32>, !torch.list<int> -> !torch.vtensor<[1,2,37,20],f32>
    %58 = torch.aten.transpose.int %57, %int1, %int2 : !torch.vtensor<[1,2,37,20],f32>, !torch.int, !torch.int -> !torch.vtensor<[1,37,2,20],f32>
    %59 = torch.prim.ListConstruct %int1, %int37, %int-1 : (!torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %60 = torch.aten.view %58, %59 : !torch.vtensor<[1,37,2,20],f32>, !torch.list<int> -> !torch.vtensor<[1,37,40],f32>
    %61 = torch.aten.linear %60, %arg4, %none : !torch.vtensor<[1,37,40],f32>, !torch.vtensor<[32,40],f32>, !torch.none -> !torch.vtensor<[1,37,32],f32>
    %62 = torch.aten.clone %61, %none : !torch.vtensor<[1,37,32],f32>, !torch.none -> !torch.vtensor<[1,37,32],f32>
    %63 = torch.aten.add.Tensor %8, %62, %int1 : !torch.vtensor<[1,37,32],f32>, !torch.vtensor<[1,37,32],f32>, !torch.int -> !torch.vtensor<[1,37,32],f32>
    torch.aten._assert_tensor_metadata %63, %none, %none, %int6, %cpu, %int0 : !torch.vtensor<[1,37,32],f32>, !torch.none, !torch.none, !torch.int, !torch.Device, !torch.int
    %64 = torch.aten.pow.Tensor_Scalar %63, %int2 : !torch.vtensor<[1,37,32],f32>, !torch.int -> !torch.vtensor<[1,37,32],f32>
    %65 = torch.aten.mean.dim %64, %10, %true, %none : !torch.vtensor<[1,37,32],f32>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[1,37,1],f32>
    %66 = torch.aten.add.Scalar %65, %float9.999990e-07, %int1 : !torch.vtensor<[1,37,1],f32>, !torch.float, !torch.int -> !torch.vtensor<[1,37,1],f32>
    %67 = torch.aten.rsqrt %66 : !torch.vtensor<[1,37,1],f32> -> !torch.vtensor<[1,37,1],f32>
    %68 = torch.aten.mul.Tensor %63, %67 : !torch.vtensor<[1,37,32],f32>, !torch.vtensor<[1,37,1],f32> -> !torch.vtensor<[1,37,32],f32>
    %69 = torch.aten.mul.Tensor %arg9, %68 : !torch.vtensor<[32],f32>, !torch.vtensor<[1,37,32],f32> -> !torch.vtensor<[1,37,32],f32>
    %70 = torch.aten.linear %69, %arg7, %none : !torch.vtensor<[1,37,32],f32>, !torch.vtensor<[48,32],f32>, !torch.none -> !torch.vtensor<[1,37,48],f32>
    %71 = torch.aten.relu %70 : !torch.vtensor<[1,37,48],f32> -> !torch.vtensor<[1,37,48],f32>
    %72 = torch.aten.clone %71, %none : !torch.vtensor<[1,37,48],f32>, !torch.none -> !torch.vtensor<[1,37,48],f32>
    %73 = torch.aten.linear %72, %arg8, %none : !torch.vtensor<[1,37,48],f32>, !torch.vtensor<[32,48],f32>, !torch.none -> !torch.vtensor<[1,37,32],f32>
    %74 = torch.aten.clone %73, %none : !torch.vtensor<[1,37,32],f32>, !torch.none -> !torch.vtensor<[1,37,32],f32>
    %75 = torch.aten.add.Tensor %63, %74, %int1 : !torch.vtensor<[1,37,32],f32>, !torch.vtensor<[1,37,32],f32>, !torch.int -> !torch.vtensor<[1,37,32],f32>
    torch.aten._assert_tensor_metadata %75, %none, %none, %int6, %cpu, %int0 : !torch.vtensor<[1,37,32],f32>, !torch.none, !torch.none, !torch.int, !torch.Device, !torch.int
    %76 = torch.aten.pow.Tensor_Scalar %75, %int2 : !torch.vtensor<[1,37,32],f32>, !torch.int -> !torch.vtensor<[1,37,32],f32>
    %77 = torch.aten.mean.dim %76, %10, %true, %none : !torch.vtensor<[1,37,32],f32>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[1,37,1],f32>
    %78 = torch.aten.add.Scalar %77, %float9.999990e-07, %int1 : !torch.vtensor<[1,37,1],f32>, !torch.float, !torch.int -> !torch.vtensor<[1,37,1],f32>
    %79 = torch.aten.rsqrt %78 : !torch.vtensor<[1,37,1],f32> -> !torch.vtensor<[1,37,1],f32>
    %80 = torch.aten.mul.Tensor %75, %79 : !torch.vtensor<[1,37,32],f32>, !torch.vtensor<[1,37,1],f32> -> !torch.vtensor<[1,37,32],f32>
    %81 = torch.aten.mul.Tensor %arg10, %80 : !torch.vtensor<[32],f32>, !torch.vtensor<[1,37,32],f32> -> !torch.vtensor<[1,37,32],f32>
    %82 = torch.aten.clone %81, %none : !torch.vtensor<[1,37,32],f32>, !torch.none -> !torch.vtensor<[1,37,32],f32>
    return %82 : !torch.vtensor<[1,37,32],f32>
  }
}
